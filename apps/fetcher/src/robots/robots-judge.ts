/**
 * Verdicts of robots.txt for URLs that are not fetched. Rules come from the cache, else they are asked for as politely
 * as ever.
 */
import { Inject, Injectable } from '@nestjs/common';
import { timeoutSignal, type RobotsReply, type RobotsRequest } from '@troupe/contracts';
import { hostKey } from '@troupe/frontier';
import type { RobotsFile } from '@troupe/politeness';
import { ROBOTS_AGENT } from '../cluster/process.js';
import { RobotsRules } from './robots-rules.js';

const HOSTS_AT_ONCE = 8;
const MAX_TIME_MS = 60_000;

@Injectable()
export class RobotsJudge {
  constructor(
    @Inject(RobotsRules) private readonly rules: Pick<RobotsRules, 'rulesFor'>,
    /** Our own name in robots.txt. */
    @Inject(ROBOTS_AGENT) private readonly agent: string,
  ) {}

  /** Never rejects: a file that cannot be read in time allows nothing, as a crawl would fetch nothing there. */
  async judge({ agent, urls, deadlineMs }: RobotsRequest, caller: AbortSignal): Promise<RobotsReply> {
    const signal = AbortSignal.any([caller, timeoutSignal(Math.min(deadlineMs, MAX_TIME_MS))]);
    const files = await this.readAll(urls, signal);
    return { allowed: urls.map((url) => files.get(hostKey(url))?.isAllowed(url, agent ?? this.agent) ?? false) };
  }

  private async readAll(urls: readonly string[], signal: AbortSignal): Promise<Map<string, RobotsFile>> {
    const waiting = [...new Map(urls.map((url) => [hostKey(url), url]))];
    const files = new Map<string, RobotsFile>();
    const work = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined && !signal.aborted; next = waiting.shift()) {
        const [host, url] = next;
        const file = await this.rules.rulesFor(url, signal).catch(() => null);
        if (file !== null) files.set(host, file);
      }
    };
    await Promise.all(Array.from({ length: HOSTS_AT_ONCE }, work));
    return files;
  }
}
