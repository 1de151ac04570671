/**
 * Places for posts to a receiver. All dispatchers together send a host at most five posts at a time, whatever the port,
 * and four of them for one team. They send none while the server there rests because it did not answer. A run that
 * cannot have a place soon is told when to come again: no run waits here for long, and a slow receiver costs other
 * receivers and other teams nothing.
 */
import { timeoutSignal, type Uuid } from '@troupe/contracts';
import type { ReceiverBoard, SlotBoard, SlotHold } from '@troupe/messaging';

/** Posts to one host at a time. */
export const PER_HOST = 5;
const PER_HOST_AND_TEAM = PER_HOST - 1;
/** How long a place is waited for. */
const WAIT_MS = 1_000;
/** Least time before a run that got no place asks again. */
const BACK_MS = 5_000;

export interface Place {
  /** Host and port: two servers on one machine rest apart. */
  server: string;
  /** The first that was claimed is given back last. */
  holds: SlotHold[];
}

export interface ReceiverPlacesParts {
  instance: string;
  slots: Pick<SlotBoard, 'claimExpress' | 'release'>;
  board: Pick<ReceiverBoard, 'restMs' | 'tell'>;
}

export class ReceiverPlaces {
  constructor(private readonly parts: ReceiverPlacesParts) {}

  /** A place, to be given back with `leave`, or when to ask again. Rejects when NATS does not answer. */
  async enter(url: URL, team: Uuid): Promise<Place | { waitMs: number }> {
    const place: Place = { server: url.host, holds: [] };
    const signal = timeoutSignal(WAIT_MS);
    try {
      const isIn =
        (await this.claim(place, `webhook ${team} ${url.hostname}`, PER_HOST_AND_TEAM, signal)) &&
        (await this.claim(place, `webhook ${url.hostname}`, PER_HOST, signal));
      const waitMs = isIn ? await this.parts.board.restMs(place.server) : BACK_MS;
      if (waitMs === 0) return place;
      await this.release(place);
      return { waitMs };
    } catch (error) {
      await this.release(place);
      throw error;
    }
  }

  /** @param answered null when nothing was posted */
  async leave(place: Place, answered: boolean | null): Promise<void> {
    try {
      if (answered !== null) await this.parts.board.tell(place.server, answered);
    } finally {
      await this.release(place);
    }
  }

  private async claim(place: Place, name: string, count: number, signal: AbortSignal): Promise<boolean> {
    const hold = await this.parts.slots.claimExpress(name, count, this.parts.instance, signal);
    if (hold !== null) place.holds.push(hold);
    return hold !== null;
  }

  private async release({ holds }: Place): Promise<void> {
    for (const hold of holds.toReversed()) await this.parts.slots.release(hold);
  }
}
