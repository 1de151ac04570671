import { actorKey, type ScrapeUsage, type Uuid } from '@troupe/contracts';
import { type Publisher } from './ports.js';

/** Bills calls that have no job: the team's actor books each id once, however often it hears of it. */
export class UsageLog {
  constructor(
    private readonly publisher: Publisher,
    private readonly instance: string,
  ) {}

  /** Resolves when the message is durable, so that billing survives the end of this process. */
  async record(usage: Omit<ScrapeUsage, 'type' | 'atMs'> & { team: Uuid }): Promise<void> {
    await this.publisher.publishActor({
      id: usage.id,
      type: 'ScrapeUsage',
      v: 1,
      from: `gw/${this.instance}`,
      to: actorKey('team', usage.team),
      n: null,
      body: { type: 'ScrapeUsage', ...usage, atMs: Date.now() },
    });
  }
}
