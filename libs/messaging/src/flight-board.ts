/**
 * Which fetcher is fetching a page just now, one key for each page in bucket `flight`. A key is taken by a write that only
 * succeeds on what its writer has seen. A fetcher that dies with one leaves a name that does not answer; its life ends by itself.
 */
import { BUCKETS } from '@troupe/contracts';
import { isRevisionConflict } from './kv-errors.js';
import type { NatsLink } from './nats-link.js';

/** A key of ours. */
export interface FlightHold {
  readonly key: string;
  revision: number;
}

export interface FlightHolder {
  fetcher: string;
  revision: number;
}

export type FlightClaim = { held: FlightHold } | { holder: FlightHolder };

/** The key is free: no fetcher fetches the page, or has it. */
const FREE = '';
const MAX_TRIES = 4;
const TIMEOUT_MS = 500;
const FREED_MS = 1_000;

export class FlightBoard {
  constructor(
    private readonly link: NatsLink,
    readonly fetcher: string,
  ) {}

  /**
   * The key, or its holder. Rejects when NATS does not answer within 500 ms a try.
   * @param lifeMs in whole seconds, at least one
   * @param from whose key may be taken over, as it was seen
   */
  async claim(key: string, lifeMs: number, from: FlightHolder | null = null): Promise<FlightClaim> {
    let revision = from?.revision ?? 0;
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const written = await this.put(key, this.fetcher, { lifeMs, revision });
      if (written !== null) return { held: { key, revision: written } };
      const stored = await this.get(key);
      if (stored !== null && stored.fetcher !== FREE) return { holder: stored };
      revision = stored?.revision ?? 0;
    }
    throw new Error(`the key of a page under way changes too fast: ${key}`);
  }

  /** Takes the key from any holder: what is fetched now is newer. */
  async seize(key: string, lifeMs: number): Promise<FlightHold> {
    return { key, revision: (await this.put(key, this.fetcher, { lifeMs, revision: null }))! };
  }

  /** null: the key is free. */
  async find(key: string): Promise<FlightHolder | null> {
    const stored = await this.get(key);
    return stored?.fetcher === FREE ? null : stored;
  }

  /** It lives for this time from now. A key that others have taken stays theirs. */
  async keep(hold: FlightHold, lifeMs: number): Promise<void> {
    const revision = await this.put(hold.key, this.fetcher, { lifeMs, revision: hold.revision });
    if (revision !== null) hold.revision = revision;
  }

  /** Frees the key at once. A key that others have taken stays theirs. */
  async free(hold: FlightHold): Promise<void> {
    await this.put(hold.key, FREE, { lifeMs: FREED_MS, revision: hold.revision });
  }

  private async get(key: string): Promise<FlightHolder | null> {
    const entry = await (await this.link.kv(BUCKETS.flight)).get(key);
    if (entry === null) return null;
    return { fetcher: entry.operation === 'PUT' ? entry.string() : FREE, revision: entry.revision };
  }

  /** @param on `revision` null: whatever is there. @returns null: something else is there */
  private async put(
    key: string,
    value: string,
    on: { lifeMs: number; revision: number | null },
  ): Promise<number | null> {
    try {
      const { seq } = await this.link.js.publish(`$KV.${BUCKETS.flight}.${key}`, value, {
        timeout: TIMEOUT_MS,
        ttl: `${Math.max(1, Math.ceil(on.lifeMs / 1000))}s`,
        ...(on.revision === null ? {} : { expect: { lastSubjectSequence: on.revision } }),
      });
      return seq;
    } catch (error) {
      if (isRevisionConflict(error)) return null;
      throw error;
    }
  }
}
