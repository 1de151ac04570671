/** The actors' way to each other and to the workers, over JetStream. */
import type { Bus, Mailbox } from '@troupe/actors';
import {
  actorSubject,
  BUCKETS,
  inSpan,
  parseActorKey,
  STREAM_ACT,
  STREAM_WORK,
  TroupeError,
  workSubject,
  type HostVerdict,
  type Mail,
  type SpanOptions,
  type TraceParent,
  type WorkClass,
  type WorkMessage,
  type WorkPriority,
} from '@troupe/contracts';
import { encodeBody, encodeEnvelope, TRACE_HEADER, type EncodedMessage } from './envelope.js';
import { hostToken } from './host-token.js';
import { PartitionMailbox, type PoisonHandler } from './mailbox.js';
import type { NatsLink } from './nats-link.js';

export interface ActorBusOptions {
  /**
   * Keeps a message that cannot be decoded; it is acknowledged when the promise resolves. Without a handler such a
   * message is delivered again every 30 s.
   */
  onPoison?: PoisonHandler;
  /** A verdict on a host was not written; the next one is. @default nothing is said */
  onUntold?(host: string, error: unknown): void;
  /** Longest wait for the stream's answer. @default 5000 */
  publishTimeoutMs?: number;
}

/**
 * Thrown when the stream did not take a message in time, or refused it because it is full. The message may still have
 * arrived: repeat it under the same id.
 */
export class PublishError extends TroupeError {
  constructor(subject: string, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    super('UNKNOWN_ERROR', `${subject} was not stored: ${reason}`, { cause, retryable: true, httpStatus: 503 });
    this.name = 'PublishError';
  }
}

export class ActorBus implements Bus {
  private readonly timeoutMs: number;

  constructor(
    private readonly link: NatsLink,
    private readonly options: ActorBusOptions = {},
  ) {
    this.timeoutMs = options.publishTimeoutMs ?? 5_000;
  }

  /**
   * Resolves when the stream has the message. Calls need not wait for each other: for one partition their order is the
   * order in the stream. Rejects after about 5 s when there is no answer; nothing is repeated here.
   * @throws PublishError, MessageTooLargeError
   */
  async publishActor(envelope: Mail): Promise<void> {
    const { kind } = parseActorKey(envelope.to);
    await inSpan(
      this.link.tracer,
      [`publish act.${kind}`, envelope.trace, publishing(envelope.type)],
      ({ context: trace }) =>
        this.publish(
          STREAM_ACT,
          actorSubject(envelope.to),
          encodeEnvelope(trace === undefined ? envelope : { ...envelope, trace }),
        ),
    );
  }

  /** @throws PublishError, MessageTooLargeError */
  async publishWork(
    cls: WorkClass,
    prio: WorkPriority,
    id: string,
    msg: WorkMessage,
    cause?: TraceParent,
  ): Promise<void> {
    const subject = workSubject(cls, prio);
    await inSpan(this.link.tracer, [`publish ${subject}`, cause, publishing(msg.type)], ({ context }) => {
      const message = encodeBody(msg.type, msg);
      message.headers.set('Nats-Msg-Id', id);
      if (context !== undefined) message.headers.set(TRACE_HEADER, context);
      return this.publish(STREAM_WORK, subject, message);
    });
  }

  notify(subject: string, msg: unknown): void {
    if (this.link.isUp()) this.link.nc.publish(subject, JSON.stringify(msg));
  }

  tell(host: string, verdict: HostVerdict): void {
    if (this.link.isUp())
      this.putVerdict(host, verdict).catch((error: unknown) => this.options.onUntold?.(host, error));
  }

  private async putVerdict(host: string, verdict: HostVerdict): Promise<void> {
    const bucket = await this.link.kv(BUCKETS.penalty);
    await bucket.put(hostToken(host), JSON.stringify({ host, ...verdict }));
  }

  openMailbox(part: number, epoch: number): Promise<Mailbox> {
    return PartitionMailbox.open(this.link, { part, epoch, onPoison: this.options.onPoison });
  }

  private async publish(stream: string, subject: string, message: EncodedMessage): Promise<void> {
    try {
      const options = { headers: message.headers, timeout: this.timeoutMs, expect: { streamName: stream } };
      await this.link.js.publish(subject, message.data, options);
    } catch (error) {
      throw new PublishError(subject, error);
    }
  }
}

function publishing(type: string): SpanOptions {
  return { kind: 'producer', attributes: { 'messaging.system': 'nats', 'troupe.message': type } };
}
