/** What must have come of every job, by the sites themselves: outcomes, documents, error rows, bills. */
import { FROM_HISTORY, scrapeIdOf } from '@troupe/contracts';
import type { SimJobTables } from '@troupe/actors';
import type { Fetchers } from './fetchers.js';
import type { SimJob } from './jobs.js';
import { storedText, walk, type Found } from './site.js';
import type { Stage } from './stage.js';

export class Oracle {
  constructor(
    private readonly stage: Stage,
    private readonly fetchers: Fetchers,
  ) {}

  /** @param isPoisoned it met what nobody could handle, and has to show that it failed */
  check(job: SimJob, isPoisoned: boolean): void {
    new Verdict(this.stage, this.fetchers, job).give(isPoisoned);
  }
}

class Verdict {
  private readonly tables: SimJobTables;

  constructor(
    private readonly stage: Stage,
    private readonly fetchers: Fetchers,
    private readonly job: SimJob,
  ) {
    this.tables = stage.store.job(job.jobNo);
  }

  give(isPoisoned: boolean): void {
    const row = this.tables.row!;
    if (!row.finished || row.status === 'scraping') this.fail('I3', `ended as ${row.status}`);
    if (isPoisoned) return this.checkPoisoned();
    if (row.status === 'failed' && !this.mayFail()) this.fail('I3', `failed: ${row.error}`);
    this.checkDocuments();
    this.checkOutcomes();
    this.checkCounts();
    if (row.status === 'cancelled') return;
    if (row.total !== row.completed) this.fail('I1', `total ${row.total}, completed ${row.completed}`);
    this.checkRequests();
    if (this.job.kind === 'batch') this.checkSeeds();
    else if (row.status === 'completed') this.checkCrawl();
  }

  private fail(invariant: string, detail: string): never {
    return this.stage.fail(invariant, `${this.job.key}: ${detail}`);
  }

  /** I15: it says so, unless it was cancelled before. */
  private checkPoisoned(): void {
    const { status, error } = this.tables.row!;
    if (status === 'cancelled') return;
    if (status !== 'failed' || (error?.includes('INTERNAL') !== true && error?.includes('internal error') !== true))
      this.fail('I15', `ended as ${status} (${error}), although it could not be handled`);
  }

  /** A crawl whose start page is lost. */
  private mayFail(): boolean {
    return !this.isSpared && this.lost.has(this.job.base);
  }

  /** Nothing of this world can have cost it a page. */
  private get isSpared(): boolean {
    return this.stage.isSparing;
  }

  // ------------------------------------------------------------------------------------------------ books

  private checkCounts(): void {
    const { row, pages, ledger } = this.tables;
    const { credits, completed } = row!;
    const delivered = pages.reduce((sum, page) => sum + page.credits, 0);
    const billed = this.job.parent === undefined ? delivered : 0;
    if (delivered !== credits || billed !== ledger)
      this.fail('I7', `credits ${credits}, billed ${ledger}, pages say ${delivered}`);
    // What was given up with its host has had no unit of the limit.
    const counted = this.urlsOf('ok').length + this.urlsOf('failed').length - this.left;
    if (counted !== completed) this.fail('I1', `completed ${completed}, outcomes say ${counted}`);
    if (counted > this.job.limit) this.fail('I1', `${counted} pages of at most ${this.job.limit}`);
    const ok = this.urlsOf('ok').length;
    if (pages.length !== ok) this.fail('I2', `${pages.length} pages, ${ok} outcomes ok`);
  }

  private get left(): number {
    return [...this.tables.outcomes.values()].filter(({ rule }) => rule === 'host-down').length;
  }

  private urlsOf(outcome: string): string[] {
    return [...this.tables.outcomes.values()].flatMap((row) => (row.outcome === outcome ? [row.url] : []));
  }

  // ------------------------------------------------------------------------------------------------ exactness

  /** I20: each document is that of its address. */
  private checkDocuments(): void {
    for (const { url, finalUrl, inline, item, statusCode } of this.tables.pages) {
      const target = this.stage.web.target(this.stage.web.page(url)).url;
      if (finalUrl !== target) this.fail('I20', `${url} is stored as ${finalUrl}, it leads to ${target}`);
      if (inline !== storedText(target) || statusCode !== 200) this.fail('I20', `${url} is stored with another text`);
      const outcome = this.tables.outcomes.get(item);
      if (outcome?.url !== url) this.fail('I20', `${url} is stored, the outcome of its item is of ${outcome?.url}`);
    }
  }

  /** I20: each URL ends as its site wants it to; what failed has a row that says why. */
  // eslint-disable-next-line complexity -- one line a rule
  private checkOutcomes(): void {
    const errors = new Map(this.tables.errors.map((row) => [row.id, row]));
    const isRuled = this.job.kind === 'crawl' && !this.job.ignoresRobots;
    for (const { item, url, outcome, rule } of this.tables.outcomes.values()) {
      const { kind } = this.stage.web.page(url);
      const isForbidden = isRuled && kind === 'robots';
      if ((outcome === 'robots') !== isForbidden && !(isForbidden && outcome === 'failed' && !this.isSpared))
        this.fail('I20', `${url} ended as ${outcome}, robots.txt ${isForbidden ? 'forbids' : 'allows'} it`);
      if (kind === 'broken' && outcome !== 'failed') this.fail('I20', `${url} is broken and ended as ${outcome}`);
      if (outcome !== 'failed') continue;
      if (kind !== 'broken' && this.isSpared) this.fail('I20', `${url} is well and ended as failed: ${rule}`);
      const row = errors.get(scrapeIdOf(this.job.jobNo, item));
      const code = rule === 'host-down' ? 'SCRAPE_SITE_ERROR' : rule;
      if (row?.code !== code || row?.url !== url)
        this.fail('I20', `${url} failed as ${code}, its error row says ${row?.code} of ${row?.url}`);
    }
    const failed = this.urlsOf('failed').length;
    if (this.tables.errors.length !== failed)
      this.fail('I20', `${this.tables.errors.length} error rows, ${failed} URLs failed`);
  }

  /** I2: what a crash of schedulers may cost is time, not requests: nothing was acknowledged before it was committed. */
  private checkRequests(): void {
    if (!this.isSpared) return;
    for (const [id, count] of this.fetchers.requests) {
      const [owner, url] = id.split(' ') as [string, string];
      const needed = 1 + this.stage.web.page(url).flaky;
      if (owner === this.job.id && count > needed) this.fail('I2', `${url} was requested ${count} times`);
    }
  }

  private checkSeeds(): void {
    const { outcomes } = this.tables;
    if (outcomes.size !== this.job.seeds.length)
      this.fail('I10', `${outcomes.size} of ${this.job.seeds.length} seeds ended`);
    this.job.seeds.forEach((url, ord) => {
      if (outcomes.get(ord)?.url !== url) this.fail('I10', `seed ${ord} is ${url}, ended as ${outcomes.get(ord)?.url}`);
    });
  }

  // ------------------------------------------------------------------------------------------------ crawls

  /** Pages whose tries were used up: nobody saw their links. */
  private get lost(): Set<string> {
    const failed = this.urlsOf('failed');
    return new Set(failed.filter((url) => this.stage.web.page(url).kind !== 'broken'));
  }

  private walked(lost: Set<string>): Found {
    const { base, isWide, tracks } = this.job;
    const hasHistory = tracks && !lost.has(base);
    const tracked = hasHistory ? this.stage.store.tracked.map(({ url }) => url) : [];
    return walk(this.stage.web, { base, isWide, tracked, lost, ignoresRobots: this.job.ignoresRobots });
  }

  private checkCrawl(): void {
    const { pages, outcomes, frontier, row } = this.tables;
    const finals = pages.map((page) => page.finalUrl);
    if (new Set(finals).size !== finals.length) this.fail('I2', `a page came twice: ${finals.join(' ')}`);
    this.checkHidden();
    if (outcomes.size < this.job.limit && frontier.size > 0) this.fail('I10', `${frontier.size} URLs left over`);
    if (row!.completed >= this.job.limit) return;
    const { lost } = this;
    const expected = this.walked(lost);
    for (const url of expected.discovered) if (!this.ended(url)) this.fail('I1', `${url} is missing`);
    if (lost.size === 0) this.checkExactly(expected, finals);
  }

  /** I20: neither more nor less than the site has. */
  private checkExactly(expected: Found, finals: string[]): void {
    this.compare('stored', expected.stored, finals);
    this.compare('failed', expected.failed, this.urlsOf('failed'));
    this.compare('forbidden', expected.forbidden, this.urlsOf('robots'));
    this.compare('left out', expected.excluded, this.tables.excluded.keys());
  }

  private compare(what: string, expected: ReadonlySet<string>, found: Iterable<string>): void {
    const there = new Set(found);
    for (const url of expected) if (!there.has(url)) this.fail('I20', `${url} is to be ${what}, and is not`);
    for (const url of there) if (!expected.has(url)) this.fail('I20', `${url} is ${what}, and should not be`);
  }

  /** What came from the histories came when everything else had, and pages that nothing names come from nowhere else. */
  private checkHidden(): void {
    const outcomes = [...this.tables.outcomes.values()];
    const hidden = outcomes.filter(({ parent }) => parent === FROM_HISTORY);
    if (!this.job.tracks && hidden.length > 0) this.fail('I12', `${hidden[0]!.url} came from histories`);
    // Whatever anybody may have seen: links of a page that failed are known when a redirect led to it before.
    const { base, isWide, ignoresRobots } = this.job;
    const named = walk(this.stage.web, { base, isWide, ignoresRobots, tracked: [], lost: new Set() }).discovered;
    const first = Math.min(...hidden.map(({ item }) => item));
    for (const { url, parent, item } of outcomes) {
      if (parent === FROM_HISTORY && this.isSpared && named.has(url))
        this.fail('I12', `${url} is named, and came from histories`);
      if (parent !== FROM_HISTORY && !named.has(url) && item < first) this.fail('I12', `${url} came from nowhere`);
    }
  }

  /** Every discovered URL has an outcome, as itself or as the target of a redirect. */
  private ended(url: string): boolean {
    for (const outcome of this.tables.outcomes.values()) if (outcome.url === url) return true;
    return this.tables.pages.some((page) => page.finalUrl === url);
  }
}
