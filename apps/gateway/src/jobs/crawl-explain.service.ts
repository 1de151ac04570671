/**
 * A dry run of a crawl's rules: the URLs it would take, and the rules that exclude the others. Only robots.txt is
 * fetched.
 */
import { Inject, Injectable } from '@nestjs/common';
import { RPC, type CrawlSpec, type RobotsReply, type RobotsRequest, type ScopeRule } from '@troupe/contracts';
import { fetchUrl } from '@troupe/frontier';
import { judgeLinks } from '@troupe/judging';
import { RemoteCalls } from './remote-calls.js';
import { TargetPolicy } from './target-policy.js';

const ROBOTS_TIMEOUT_MS = 30_000;
/** Time a fetcher has to answer after its own deadline. */
const GRACE_MS = 2_000;

/** A URL to be judged: its canonical form, or why it has none. */
export type ExplainUrl = { canonical: string } | { canonical: null; rule: ScopeRule };

type Judged = Omit<Explanation, 'isAllowedByRobots'>;

export interface Explanation {
  /** The URL that a crawl would fetch. */
  canonical: string | null;
  /** The first rule against it; null when it is in scope. */
  rule: ScopeRule | null;
  isAllowedByRobots: boolean;
}

@Injectable()
export class CrawlExplainService {
  constructor(
    private readonly calls: RemoteCalls,
    @Inject(TargetPolicy) private readonly targets: Pick<TargetPolicy, 'check'>,
  ) {}

  /** In the order of `urls`. A redirect of the start page, which would move the scope, is not looked for. */
  async explain(spec: CrawlSpec, urls: readonly ExplainUrl[], signal: AbortSignal): Promise<Explanation[]> {
    this.targets.check(spec.scope.base);
    const judged = await judge(spec, urls);
    const allowed = await this.askRobots(
      spec,
      [...new Set(judged.flatMap(({ canonical }) => canonical ?? []))],
      signal,
    );
    return judged.map(({ canonical, rule }) => ({
      canonical,
      rule,
      isAllowedByRobots: canonical !== null && allowed.has(canonical),
    }));
  }

  private async askRobots(spec: CrawlSpec, urls: string[], signal: AbortSignal): Promise<Set<string>> {
    if (spec.ignoreRobots || urls.length === 0) return new Set(urls);
    this.calls.ensureUp();
    const request: RobotsRequest = { agent: spec.robotsAgent, urls, deadlineMs: ROBOTS_TIMEOUT_MS };
    const { head } = await this.calls.call<RobotsReply>(RPC.robots, request, null, {
      timeoutMs: ROBOTS_TIMEOUT_MS + GRACE_MS,
      signal,
    });
    return new Set(urls.filter((_, i) => head.allowed[i] === true));
  }
}

async function judge(spec: CrawlSpec, urls: readonly ExplainUrl[]): Promise<Judged[]> {
  const fetched = urls.map(({ canonical }) => (canonical === null ? null : fetchUrl(canonical, spec.scope)));
  const known = fetched.filter((url) => url !== null);
  const rules = await judgeLinks(spec.scope, known, leastDepth(spec));
  const ruleOf = new Map(known.map((url, i) => [url, rules[i]!]));
  return urls.map((url, i) => {
    const canonical = fetched[i]!;
    return url.canonical === null ? url : { canonical, rule: ruleOf.get(canonical)! };
  });
}

/** The depth of a page is not known before a crawl, so the least possible one is assumed. Sitemaps are depth 0. */
function leastDepth({ scope }: CrawlSpec): number {
  return scope.sitemap === 'skip' ? 1 : 0;
}
