import { Module } from '@nestjs/common';
import { CONFIG, type Config } from '@troupe/service';
import { batchActor } from './batch.actor.js';
import { crawlActor } from './crawl.actor.js';

/** The actors of jobs that fetch pages. */
export const PAGE_JOB_ACTORS = Symbol('actors of page jobs');

/** The product token of the User-Agent is what robots.txt is matched against (RFC 9309, section 2.2.1). */
function robotsAgentOf(userAgent: string): string {
  return userAgent.split(/[/\s]/, 1)[0]!;
}

@Module({
  providers: [
    {
      provide: PAGE_JOB_ACTORS,
      inject: [CONFIG],
      useFactory: ({ userAgent, limitCountsFailed }: Config) => {
        const options = { robotsAgent: robotsAgentOf(userAgent), limitCountsFailed };
        return [crawlActor(options), batchActor(options)];
      },
    },
  ],
  exports: [PAGE_JOB_ACTORS],
})
export class CrawlModule {}
