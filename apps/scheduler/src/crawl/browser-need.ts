/**
 * Learns which of a job's next pages need a browser, from the pages that fetchers without one hand back. It is kept in
 * memory only. After a change of owner it is learned again, at the price of a few pages that are sent twice.
 */
import { asksForBrowser, type PageResult, type ScrapeSpec } from '@troupe/contracts';

/** Pages in a row that were handed back before all lanes of a host go to fetchers with a browser. */
const AFTER_PAGES = 3;
/** The same for a host of which a page was read without one: its pages may differ, and links to those of a kind come together. */
const AFTER_PAGES_WHERE_MIXED = 12;
const MAX_HOSTS = 10_000;
/** Key for all hosts of a job whose options ask for a browser. */
const EVERY_HOST = '';

/** The known facts of a host. */
interface Known {
  handedBackInRow: number;
  didWithout: boolean;
}

export class BrowserNeed {
  private readonly hosts = new Map<string, Known>();

  handedBack(host: string, spec: ScrapeSpec): void {
    this.known(keyOf(host, spec)).handedBackInRow += 1;
  }

  /** Notes a page that was read without a browser: the next ones may be read so too. */
  sufficed(host: string, spec: ScrapeSpec): void {
    Object.assign(this.known(keyOf(host, spec)), { handedBackInRow: 0, didWithout: true });
  }

  /** True: all pages of the host go to fetchers with a browser, which find out which ones need it. */
  isOfWholeHost(host: string, spec: ScrapeSpec): boolean {
    const known = this.hosts.get(keyOf(host, spec));
    if (known === undefined) return false;
    const enough = known.didWithout ? AFTER_PAGES_WHERE_MIXED : AFTER_PAGES;
    return known.handedBackInRow >= (asksForBrowser(spec) ? 1 : enough);
  }

  /** The host's entry, which becomes the most recent one. */
  private known(key: string): Known {
    const known = this.hosts.get(key) ?? { handedBackInRow: 0, didWithout: false };
    this.hosts.delete(key);
    this.hosts.set(key, known);
    const [oldest] = this.hosts.keys();
    if (this.hosts.size > MAX_HOSTS && oldest !== undefined) this.hosts.delete(oldest);
    return known;
  }
}

function keyOf(host: string, spec: ScrapeSpec): string {
  return asksForBrowser(spec) ? EVERY_HOST : host;
}

export function didWithoutBrowser({ outcome, engine }: PageResult): boolean {
  return outcome === 'ok' && engine !== null && engine !== 'browser';
}
