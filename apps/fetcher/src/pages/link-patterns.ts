/**
 * A converter that has the patterns of a crawl matched elsewhere: however long that takes, no page of another crawl waits for
 * it in a conversion thread.
 */
import type { ConvertRequest, ConvertResult, Converter } from '@troupe/contracts';
import { fingerprint, hasPatterns, withoutPatterns } from '@troupe/frontier';
import { judgeLinks } from '@troupe/judging';

/** Patterns may keep only a few of a page's links: so many times the wanted number are looked at. */
const FACTOR = 5;
const MAX_SAMPLE = 50;

export class LinkPatterns implements Converter {
  constructor(private readonly inner: Converter) {}

  async convert(request: ConvertRequest, signal?: AbortSignal): Promise<ConvertResult> {
    const { discover } = request;
    if (discover === null) return this.inner.convert(request, signal);
    const { scope, maxLinks, depth } = discover;
    if (!hasPatterns(scope)) return this.inner.convert(request, signal);
    // The rules of depth come after the patterns, because the first rule against a link is the reported one.
    const plain = { ...withoutPatterns(scope), maxDepth: null, maxPathDepth: null };
    const asked = { ...request, discover: { ...discover, scope: plain, maxLinks: maxLinks * FACTOR } };
    const converted = await this.inner.convert(asked, signal);
    const urls = converted.outlinks.map(({ url }) => url);
    const rules = await judgeLinks(scope, urls, depth + 1);
    return sorted(converted, rules, maxLinks);
  }
}

function sorted(
  converted: ConvertResult,
  rules: Awaited<ReturnType<typeof judgeLinks>>,
  maxLinks: number,
): ConvertResult {
  const byRule = { ...converted.excluded.byRule };
  const sample = [...converted.excluded.sample];
  for (const [i, { url }] of converted.outlinks.entries()) {
    const rule = rules[i] ?? null;
    if (rule === null) continue;
    byRule[rule] = (byRule[rule] ?? 0) + 1;
    if (sample.length < MAX_SAMPLE) sample.push({ url, h: fingerprint(url), rule });
  }
  const outlinks = converted.outlinks.filter((_, i) => rules[i] === null).slice(0, maxLinks);
  return { ...converted, outlinks, excluded: { byRule, sample } };
}
