/**
 * When is a page in the browser ready to be read?
 *
 * Ready = nothing it asked for is under way and its DOM has kept its size for a while. Requests to an address that was
 * already asked twice are polling and do not count, nor do streams; the DOM is measured by its size, so a ticking clock
 * does not count either. All of it within a fixed limit: a page that never rests is read as it is.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page, Request } from 'playwright-core';

const QUIET_MS = 500;
const SAMPLE_MS = 100;
const POLLING_AFTER = 2;
const COUNTED_TYPES = new Set(['document', 'script', 'stylesheet', 'xhr', 'fetch']);
const DOM_SIZE = `document.getElementsByTagName('*').length + ':' + (document.body ? document.body.textContent.length : 0)`;

/** Follows a page's requests from its creation on. */
export class NetworkWatch {
  private readonly inFlight = new Set<Request>();
  private readonly asked = new Map<string, number>();

  constructor(page: Page) {
    page.on('request', (request) => this.begin(request));
    page.on('requestfinished', (request) => this.inFlight.delete(request));
    page.on('requestfailed', (request) => this.inFlight.delete(request));
  }

  get isQuiet(): boolean {
    return this.inFlight.size === 0;
  }

  private begin(request: Request): void {
    if (!COUNTED_TYPES.has(request.resourceType())) return;
    const address = request.url().replace(/[?#].*/, '');
    const times = (this.asked.get(address) ?? 0) + 1;
    this.asked.set(address, times);
    if (times <= POLLING_AFTER) this.inFlight.add(request);
  }
}

/** Resolves when the page rests, or after `limitMs`. Never rejects. */
export async function waitUntilSettled(page: Page, network: NetworkWatch, limitMs: number): Promise<void> {
  const endsAt = performance.now() + limitMs;
  let quietSince = performance.now();
  let size = '';
  while (performance.now() < endsAt) {
    const now = await domSize(page, endsAt - performance.now());
    if (now !== size || !network.isQuiet) quietSince = performance.now();
    if (performance.now() - quietSince >= QUIET_MS) return;
    size = now;
    await sleep(Math.min(SAMPLE_MS, Math.max(0, endsAt - performance.now())));
  }
}

/** A page that is just navigating, or whose script hangs, has no size. */
async function domSize(page: Page, limitMs: number): Promise<string> {
  const measured = page.evaluate<string>(DOM_SIZE).catch(() => 'none');
  return Promise.race([measured, sleep(limitMs, 'none')]);
}
