/** The transport side of a simulation: it loses, repeats and reorders messages, and never says so. */
import {
  partitionOf,
  type Envelope,
  type HostVerdict,
  type WorkClass,
  type WorkMessage,
  type WorkPriority,
} from '@troupe/contracts';
import type { Clock } from '../clock.js';
import type { Bus, Delivery, Mailbox } from '../ports.js';
import { FencedError } from '../ports.js';
import { NO_FAULTS, type FaultPoints } from './faults.js';
import type { Random } from './random.js';

export interface BusFaults {
  loss: number;
  duplication: number;
  reordering: number;
  /** Share of the mail that is under way for up to `MAX_LATE_MS`, while what is sent later arrives. */
  lateness: number;
}

const MAX_LATE_MS = 3_000;

interface Stored {
  envelope: Envelope;
  arrivesAt: number;
  acked: boolean;
}

export type MailEvent = 'sent' | 'sent twice' | 'lost' | 'delivered' | 'acknowledged' | 'put back';

export interface WorkItem {
  id: string;
  msg: WorkMessage;
}

export class SimBus implements Bus {
  private readonly streams = new Map<number, Stored[]>();
  private readonly mailboxes = new Map<number, SimMailbox>();
  readonly work: WorkItem[] = [];
  /** Verdicts on hosts, as fetchers see them. */
  readonly verdicts = new Map<string, HostVerdict>();
  /** Ids the stream has seen: it takes each once (`Nats-Msg-Id`). */
  readonly publishedWork = new Set<string>();
  faults: FaultPoints = NO_FAULTS;
  troubles: BusFaults = { loss: 0, duplication: 0, reordering: 0, lateness: 0 };
  /** Sees core messages (progress, grants of gateways). */
  onNotify: (subject: string, msg: unknown) => void = () => {};
  /** Sees what becomes of messages; for traces. */
  onMailEvent: (fate: MailEvent, message: Envelope | WorkItem, epoch?: number) => void = () => {};

  constructor(
    private readonly random: Random,
    private readonly clock: Pick<Clock, 'wall' | 'sleep'>,
    /** Whether a reader without mail waits for some. @default false: the simulation asks it again */
    private readonly isPatient = false,
  ) {}

  publishActor(envelope: Envelope): Promise<void> {
    this.faults.beforePublish();
    if (this.random.chance(this.troubles.loss)) {
      this.onMailEvent('lost', envelope);
      return Promise.resolve();
    }
    const stream = this.stream(partitionOf(envelope.to));
    const copies = this.random.chance(this.troubles.duplication) ? 2 : 1;
    for (let i = 0; i < copies; i++) {
      const stored = {
        envelope: JSON.parse(JSON.stringify(envelope)) as Envelope,
        arrivesAt: this.clock.wall() + this.delay(),
        acked: false,
      };
      const at = this.random.chance(this.troubles.reordering)
        ? Math.max(0, stream.length - this.random.int(0, 5))
        : stream.length;
      stream.splice(at, 0, stored);
    }
    this.onMailEvent(copies > 1 ? 'sent twice' : 'sent', envelope);
    this.mailboxes.get(partitionOf(envelope.to))?.wake();
    return Promise.resolve();
  }

  private delay(): number {
    const { lateness } = this.troubles;
    return lateness > 0 && this.random.chance(lateness) ? this.random.int(1, MAX_LATE_MS) : 0;
  }

  publishWork(_cls: WorkClass, _prio: WorkPriority, id: string, msg: WorkMessage): Promise<void> {
    this.faults.beforePublish();
    if (this.publishedWork.has(id)) return Promise.resolve();
    this.publishedWork.add(id);
    if (this.random.chance(this.troubles.loss)) {
      this.onMailEvent('lost', { id, msg });
      return Promise.resolve();
    }
    const copies = this.random.chance(this.troubles.duplication) ? 2 : 1;
    this.onMailEvent(copies > 1 ? 'sent twice' : 'sent', { id, msg });
    for (let i = 0; i < copies; i++) this.work.push({ id, msg: JSON.parse(JSON.stringify(msg)) as WorkMessage });
    return Promise.resolve();
  }

  notify(subject: string, msg: unknown): void {
    this.onNotify(subject, msg);
  }

  tell(host: string, verdict: HostVerdict): void {
    this.verdicts.set(host, verdict);
  }

  openMailbox(part: number, epoch: number): Promise<Mailbox> {
    const current = this.mailboxes.get(part);
    if (current !== undefined && current.epoch > epoch)
      throw new FencedError(`partition ${part} is at epoch ${current.epoch}`);
    const mailbox: SimMailbox = new SimMailbox(
      epoch,
      this.stream(part),
      this.random,
      this.clock,
      this.isPatient,
      () => this.mailboxes.get(part) === mailbox,
      (fate, envelope) => this.onMailEvent(fate, envelope, epoch),
    );
    this.mailboxes.set(part, mailbox);
    return Promise.resolve(mailbox);
  }

  /** The server lost its disk: everything stored is gone. */
  wipe(): void {
    for (const stream of this.streams.values()) stream.length = 0;
    this.work.length = 0;
  }

  /** Breaks a rule for a mutant: acknowledges mail before it is committed. */
  ackTaken(part: number): void {
    this.mailboxes.get(part)?.ackTaken();
  }

  hasMail(part: number): boolean {
    return this.stream(part).some((stored) => !stored.acked);
  }

  get hasAnyMail(): boolean {
    for (const part of this.streams.keys()) if (this.hasMail(part)) return true;
    return false;
  }

  private stream(part: number): Stored[] {
    let stream = this.streams.get(part);
    if (stream === undefined) this.streams.set(part, (stream = []));
    return stream;
  }
}

class SimMailbox implements Mailbox {
  /** Handed out and not acknowledged under this epoch. */
  private readonly taken = new Set<Stored>();
  /** Messages put back under this epoch. */
  private readonly comesBackAt = new Map<Stored, number>();
  private waiter: (() => void) | null = null;
  private isClosed = false;

  constructor(
    readonly epoch: number,
    private readonly stream: Stored[],
    private readonly random: Random,
    private readonly clock: Pick<Clock, 'wall' | 'sleep'>,
    private readonly isPatient: boolean,
    private readonly isCurrent: () => boolean,
    private readonly onMailEvent: (fate: MailEvent, envelope: Envelope) => void,
  ) {}

  async take(max: number, idleMs: number): Promise<Delivery[]> {
    if (this.isClosed) return [];
    const found = this.takeNow(max);
    if (found.length > 0 || idleMs <= 0 || !this.isPatient) return found;
    await Promise.race([this.clock.sleep(this.restMs(idleMs)), new Promise<void>((wake) => (this.waiter = wake))]);
    return this.isClosed ? [] : this.takeNow(max);
  }

  /** Time until the next message that is under way arrives. */
  private restMs(idleMs: number): number {
    const now = this.clock.wall();
    const times = [...this.stream.map(({ arrivesAt }) => arrivesAt), ...this.comesBackAt.values()];
    return times.reduce((least, at) => (at > now ? Math.min(least, at - now) : least), idleMs);
  }

  private isThere(stored: Stored): boolean {
    return Math.max(stored.arrivesAt, this.comesBackAt.get(stored) ?? 0) <= this.clock.wall();
  }

  private takeNow(max: number): Delivery[] {
    if (!this.isCurrent()) return [];
    for (let i = this.stream.length - 1; i >= 0; i--) if (this.stream[i]!.acked) this.stream.splice(i, 1);
    const fresh = this.stream
      .filter((stored) => !this.taken.has(stored) && this.isThere(stored))
      .slice(0, Math.min(max, this.random.int(1, 6)));
    return fresh.map((stored) => this.deliver(stored));
  }

  wake(): void {
    this.waiter?.();
    this.waiter = null;
  }

  ackTaken(): void {
    for (const stored of this.taken) stored.acked = true;
  }

  close(): Promise<void> {
    this.isClosed = true;
    this.wake();
    return Promise.resolve();
  }

  private deliver(stored: Stored): Delivery {
    this.taken.add(stored);
    this.onMailEvent('delivered', stored.envelope);
    return {
      envelope: JSON.parse(JSON.stringify(stored.envelope)) as Envelope,
      ack: () => {
        if (!this.isCurrent()) return;
        stored.acked = true;
        this.onMailEvent('acknowledged', stored.envelope);
      },
      nack: (delayMs) => {
        this.comesBackAt.set(stored, this.clock.wall() + delayMs);
        this.taken.delete(stored);
        this.onMailEvent('put back', stored.envelope);
      },
    };
  }
}
