import { Inject, Injectable } from '@nestjs/common';
import { actorKey, type Envelope, type ScrapeUsage, type Tracer, type Uuid } from '@troupe/contracts';
import { ActorBus, MailBundler } from '@troupe/messaging';
import { INSTANCE, TRACER } from '@troupe/service';
import { type Publisher } from './ports.js';

/** Bills of calls that end within this time are sent together. */
const GATHER_MS = 25;
/** A call that took less time does not wait for others. */
const QUICK_MS = 50;

/** Bills calls that have no job: the team's actor books each id once, however often it hears of it. */
@Injectable()
export class UsageLog {
  private readonly bundler: Pick<MailBundler, 'publishActor'>;

  constructor(
    @Inject(ActorBus) private readonly publisher: Publisher,
    @Inject(INSTANCE) private readonly instance: string,
    @Inject(TRACER) private readonly tracer: Tracer,
  ) {
    this.bundler = new MailBundler(publisher, instance, { intervalMs: GATHER_MS });
  }

  /** Resolves when the message is durable, so that billing survives the end of this process. */
  async record(usage: Omit<ScrapeUsage, 'type' | 'atMs'> & { team: Uuid }): Promise<void> {
    const envelope: Envelope = {
      id: usage.id,
      type: 'ScrapeUsage',
      v: 1,
      from: `gw/${this.instance}`,
      to: actorKey('team', usage.team),
      n: null,
      body: { type: 'ScrapeUsage', ...usage, atMs: Date.now() },
      // The trace is taken here, because bills are gathered from many calls.
      trace: this.tracer.active(),
    };
    await (usage.ms < QUICK_MS ? this.publisher : this.bundler).publishActor(envelope);
  }
}
