/**
 * Gathers a worker's messages to the same actor into one piece of mail, so that many lanes of a job cost few messages.
 *
 * The first message goes at once; what follows within the interval travels together at its end. So a quiet sender
 * loses no time, and a busy one sends at most one piece per actor and interval. Order is kept per actor.
 */
import type { ActorKey, ActorMessage, Bundle, Envelope, Mail } from '@troupe/contracts';

export interface MailBundlerOptions {
  /** @default 50 */
  intervalMs?: number;
  /** Messages of one piece; more go at once. @default 64 */
  maxMessages?: number;
  /** Rough size of one piece in characters; more go at once. @default 300000 */
  maxText?: number;
}

interface Waiting {
  envelope: Envelope;
  text: number;
  resolve(): void;
  reject(error: unknown): void;
}

interface Box {
  waiting: Waiting[];
  text: number;
  timer: NodeJS.Timeout | null;
}

export class MailBundler {
  private readonly boxes = new Map<ActorKey, Box>();
  private readonly options: Required<MailBundlerOptions>;
  private bundles = 0;

  constructor(
    private readonly bus: { publishActor(mail: Mail): Promise<void> },
    /** Unique sender: part of the message ids. */
    private readonly id: string,
    options: MailBundlerOptions = {},
  ) {
    this.options = { intervalMs: 50, maxMessages: 64, maxText: 300_000, ...options };
  }

  /** Like `ActorBus.publishActor`: resolves when the stream has the message, rejects when its piece was not stored. */
  publishActor(envelope: Envelope, text = 2_000): Promise<void> {
    const box = this.boxes.get(envelope.to);
    if (box === undefined) {
      this.open(envelope.to);
      return this.bus.publishActor(envelope);
    }
    return new Promise((resolve, reject) => {
      if (box.text + text > this.options.maxText || box.waiting.length >= this.options.maxMessages) this.send(box);
      box.waiting.push({ envelope, text, resolve, reject });
      box.text += text;
    });
  }

  private open(to: ActorKey): void {
    const box: Box = { waiting: [], text: 0, timer: null };
    this.boxes.set(to, box);
    this.arm(to, box);
  }

  private arm(to: ActorKey, box: Box): void {
    box.timer = setTimeout(() => {
      if (box.waiting.length === 0) {
        this.boxes.delete(to);
        return;
      }
      this.send(box);
      this.arm(to, box);
    }, this.options.intervalMs);
  }

  private send(box: Box): void {
    const waiting = box.waiting;
    box.waiting = [];
    box.text = 0;
    this.bus.publishActor(this.pack(waiting.map(({ envelope }) => envelope))).then(
      () => waiting.forEach(({ resolve }) => resolve()),
      (error: unknown) => waiting.forEach(({ reject }) => reject(error)),
    );
  }

  private pack(envelopes: Envelope[]): Mail {
    const first = envelopes[0]!;
    if (envelopes.length === 1) return first;
    const messages: ActorMessage[] = envelopes.map(({ body }) => body);
    const body: Bundle = { type: 'Bundle', messages };
    return { ...first, id: `b.${this.id}.${++this.bundles}`, type: body.type, body };
  }
}
