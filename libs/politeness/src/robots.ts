/** robots.txt by RFC 9309, with `Crawl-delay` and `Sitemap` lines. */

const MAX_CHARS = 500 * 1024;
const MAX_SITEMAPS = 1000;

interface Rule {
  allow: boolean;
  pattern: string;
  matches(path: string): boolean;
}

interface Group {
  agents: string[];
  rules: Rule[];
  crawlDelayMs: number | null;
}

type MergedGroup = Pick<Group, 'rules' | 'crawlDelayMs'>;

const NO_RULES: MergedGroup = { rules: [], crawlDelayMs: null };

export class RobotsFile {
  /** Nothing is forbidden: the file is absent. */
  static readonly allowAll = new RobotsFile([], []);
  /** Everything is forbidden: the file exists perhaps, but could not be read. */
  static readonly disallowAll = new RobotsFile(
    [{ agents: ['*'], rules: [compileRule(false, '/')], crawlDelayMs: null }],
    [],
  );

  private readonly byAgent = new Map<string, MergedGroup>();

  constructor(
    private readonly groups: readonly Group[],
    /** As written, distinct. */
    readonly sitemaps: readonly string[],
  ) {}

  /** Whether `agent` may fetch the absolute URL. The robots.txt itself always may be. */
  isAllowed(url: string, agent: string): boolean {
    const path = normalizePath(pathOf(url));
    if (path === '/robots.txt') return true;
    const rule = this.groupFor(agent).rules.find((candidate) => candidate.matches(path));
    return rule === undefined || rule.allow;
  }

  /** Null when the agent's group names none. */
  crawlDelayMs(agent: string): number | null {
    return this.groupFor(agent).crawlDelayMs;
  }

  private groupFor(agent: string): MergedGroup {
    const token = productToken(agent);
    let merged = this.byAgent.get(token);
    if (merged === undefined) {
      merged = this.mergeGroups(token) ?? this.mergeGroups('*') ?? NO_RULES;
      this.byAgent.set(token, merged);
    }
    return merged;
  }

  private mergeGroups(agent: string): MergedGroup | null {
    const groups = this.groups.filter((group) => group.agents.includes(agent));
    if (groups.length === 0) return null;
    const delays = groups.flatMap(({ crawlDelayMs }) => (crawlDelayMs === null ? [] : [crawlDelayMs]));
    return {
      rules: groups.flatMap((group) => group.rules).sort(byPrecedence),
      crawlDelayMs: delays.length === 0 ? null : Math.max(...delays),
    };
  }
}

/** Never throws: what is not understood is passed over. */
export function parseRobots(text: string): RobotsFile {
  const groups: Group[] = [];
  const sitemaps = new Set<string>();
  let isNaming = false;
  for (const [key, value] of readLines(text)) {
    if (key === 'sitemap') {
      if (value !== '' && sitemaps.size < MAX_SITEMAPS) sitemaps.add(value);
      continue;
    }
    if (key === 'user-agent') {
      if (!isNaming) groups.push({ agents: [], rules: [], crawlDelayMs: null });
      groups.at(-1)!.agents.push(productToken(value));
      isNaming = true;
      continue;
    }
    isNaming = !addToGroup(groups.at(-1), key, value) && isNaming;
  }
  return new RobotsFile(groups, [...sitemaps]);
}

/** Meaning of an answer to the request for robots.txt (RFC 9309 §2.3.1); status 0 = no answer. */
export function robotsForStatus(status: number, text: string): RobotsFile {
  if (status >= 200 && status < 300) return parseRobots(text);
  return status >= 300 && status < 500 ? RobotsFile.allowAll : RobotsFile.disallowAll;
}

/** True for a line that belongs to a group, and so ends its list of agents. */
function addToGroup(group: Group | undefined, key: string, value: string): boolean {
  if (key !== 'allow' && key !== 'disallow' && key !== 'crawl-delay') return false;
  if (group === undefined) return true;
  if (key === 'crawl-delay') group.crawlDelayMs = parseDelay(value) ?? group.crawlDelayMs;
  else if (value !== '') group.rules.push(compileRule(key === 'allow', value));
  return true;
}

function* readLines(text: string): Generator<[string, string]> {
  const body = text.slice(0, MAX_CHARS).replace(/^\uFEFF/, '');
  for (const line of body.split(/\r\n|\r|\n/)) {
    const content = line.split('#', 1)[0]!;
    const colon = content.indexOf(':');
    if (colon > 0) yield [content.slice(0, colon).trim().toLowerCase(), content.slice(colon + 1).trim()];
  }
}

function parseDelay(value: string): number | null {
  return /^\d+(?:\.\d+)?$/.test(value) ? Math.round(Number(value) * 1000) : null;
}

/** The name alone, lower case: `Troupe/1.0 (+https://…)` is `troupe`. */
function productToken(agent: string): string {
  return /^[^\s/;(,]*/.exec(agent.trim())![0].toLowerCase();
}

/** Longest pattern first; of two equally long ones the allowing. */
function byPrecedence(a: Rule, b: Rule): number {
  return b.pattern.length - a.pattern.length || Number(b.allow) - Number(a.allow);
}

function compileRule(allow: boolean, value: string): Rule {
  const rooted = /^[/*]/.test(value) ? value : `/${value}`;
  const isAnchored = rooted.endsWith('$');
  const body = isAnchored ? rooted.slice(0, -1) : rooted;
  const parts = body.split('*').map(normalizePath);
  const pattern = parts.join('*') + (isAnchored ? '$' : '');
  return { allow, pattern, matches: (path) => matchesParts(path, parts, isAnchored) };
}

/** Leftmost match of each literal part in turn: linear, no backtracking. */
function matchesParts(path: string, parts: string[], isAnchored: boolean): boolean {
  const first = parts[0]!;
  if (!path.startsWith(first)) return false;
  if (parts.length === 1) return !isAnchored || path.length === first.length;
  let at = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = path.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  const last = parts.at(-1)!;
  return isAnchored ? path.length - last.length >= at && path.endsWith(last) : path.indexOf(last, at) >= 0;
}

function pathOf(url: string): string {
  const authority = url.indexOf('://') + 3;
  const start = url.slice(authority).search(/[/?#]/);
  if (start < 0) return '/';
  const path = url.slice(authority + start).split('#', 1)[0]!;
  return path.startsWith('/') ? path : `/${path}`;
}

/** One spelling for comparison: unreserved characters plain, reserved ones as written, everything else escaped. */
function normalizePath(text: string): string {
  return text.replace(/%([0-9a-fA-F]{2})|[^A-Za-z0-9\-._~:/?#[\]@!&'()+,;=%]+/g, (found, hex: string | undefined) =>
    hex === undefined ? escapeText(found) : normalizeEscape(found, hex),
  );
}

function normalizeEscape(escape: string, hex: string): string {
  const char = String.fromCharCode(parseInt(hex, 16));
  return /[A-Za-z0-9\-._~]/.test(char) ? char : escape.toUpperCase();
}

function escapeText(text: string): string {
  return [...Buffer.from(text, 'utf8')].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('');
}
