/**
 * Where a job's next pages will need a browser, learned from what fetchers without one hand back. Kept in memory only:
 * after a change of owner it is learned again, at the price of a few pages that travel once more.
 */
import { asksForBrowser, type ScrapeSpec } from '@troupe/contracts';

/** Pages in a row that were handed back before all lanes of a host go to fetchers with a browser. */
const AFTER_PAGES = 3;
const MAX_HOSTS = 10_000;
/** Stands for all hosts of a job whose options ask for a browser. */
const EVERY_HOST = '';

export class BrowserNeed {
  private readonly rows = new Map<string, number>();

  handedBack(host: string, spec: ScrapeSpec): void {
    const key = keyOf(host, spec);
    const pages = (this.rows.get(key) ?? 0) + 1;
    this.rows.delete(key);
    this.rows.set(key, pages);
    const [oldest] = this.rows.keys();
    if (this.rows.size > MAX_HOSTS && oldest !== undefined) this.rows.delete(oldest);
  }

  /** A page was read without a browser: so may the next ones be. */
  sufficed(host: string, spec: ScrapeSpec): void {
    this.rows.delete(keyOf(host, spec));
  }

  /** All pages of the host go to fetchers with a browser, which find out themselves what needs one. */
  isOfWholeHost(host: string, spec: ScrapeSpec): boolean {
    return (this.rows.get(keyOf(host, spec)) ?? 0) >= (asksForBrowser(spec) ? 1 : AFTER_PAGES);
  }
}

function keyOf(host: string, spec: ScrapeSpec): string {
  return asksForBrowser(spec) ? EVERY_HOST : host;
}
