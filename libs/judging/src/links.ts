/** Matches links against the patterns of a crawl, off the event loop: the author of a pattern decides its cost. */
import type { ScopeRule, ScopeSpec } from '@troupe/contracts';
import { OverrunError } from './bounded-thread.js';
import { JudgeThread } from './judge-thread.js';

export interface LinksQuestion {
  scope: ScopeSpec;
  urls: readonly string[];
  depth: number;
}

/** Matching ends by itself, after `MATCH_MS` of work; compiling is bounded where the patterns are taken in. A thread that gets no core is given up. */
const DEADLINE_MS = 30_000;
const MAX_HEAP_MB = 384;

const thread = new JudgeThread<LinksQuestion, (ScopeRule | null)[]>({
  script: new URL('./links.worker.js', import.meta.url),
  deadlineMs: DEADLINE_MS,
  maxHeapMb: MAX_HEAP_MB,
});

/**
 * For each canonical URL the rule that keeps it out, null when it belongs. Together they are the links of one page: those for
 * which no time is left are kept out by `pattern-budget`.
 */
export async function judgeLinks(
  scope: ScopeSpec,
  urls: readonly string[],
  depth: number,
): Promise<(ScopeRule | null)[]> {
  // A process that only judges values does not hold its 20 MB.
  const { compileScope, hasPatterns, withoutPatterns } = await import('@troupe/frontier');
  const plain = compileScope(withoutPatterns(scope));
  const rules = urls.map((url) => plain.check(url, depth));
  if (!hasPatterns(scope)) return rules;
  // The rule of depth comes after the patterns.
  const open = urls.filter((url, i) => (rules[i] === null || rules[i] === 'depth') && !plain.isStart(url));
  if (open.length === 0) return rules;
  const found = await inThread({ scope, urls: open, depth });
  const byUrl = new Map(open.map((url, i) => [url, found[i]!]));
  return urls.map((url, i) => byUrl.get(url) ?? rules[i]!);
}

async function inThread(question: LinksQuestion): Promise<(ScopeRule | null)[]> {
  try {
    return await thread.ask(question, new URL(question.scope.base).hostname);
  } catch (error) {
    if (error instanceof OverrunError) return question.urls.map(() => 'pattern-budget');
    throw error;
  }
}
