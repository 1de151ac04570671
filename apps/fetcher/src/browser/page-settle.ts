/**
 * Decides when a page in the browser is ready to be read.
 *
 * Ready = it has loaded, nothing it asked for is under way, and its DOM has kept its size for a moment. An answer that
 * has not changed the DOM yet is given longer to do so: scripts rarely fetch what they do not show. Requests to an
 * address that was already asked twice are polling and do not count, nor do streams; the DOM is measured by its size,
 * so a ticking clock does not count either. All waits have fixed limits: a page that never rests is read as it is.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page, Request } from 'playwright-core';
import { within } from './within.js';

/** The DOM has rested when it kept its size for this long … */
const CALM_MS = 80;
/** … or for this long after an answer that has not shown in it yet. */
const OWED_MS = 500;
const SAMPLE_MS = 40;
const POLLING_AFTER = 2;
const COUNTED_TYPES = new Set(['document', 'script', 'stylesheet', 'xhr', 'fetch']);
/** Types of requests by which scripts get content to show. */
const ANSWER_TYPES = new Set(['xhr', 'fetch']);
const DOM_SIZE = `document.getElementsByTagName('*').length + ':' + (document.body ? document.body.textContent.length : 0)`;

/** Follows a page's requests from its first one on. */
export class NetworkWatch {
  /** Requests whose answers a script will show, so far. */
  answersAsked = 0;
  private readonly inFlight = new Set<Request>();
  private readonly asked = new Map<string, number>();
  private wake: () => void = () => undefined;

  constructor(page: Page) {
    page.on('request', (request) => this.begin(request));
    page.on('requestfinished', (request) => this.end(request));
    page.on('requestfailed', (request) => this.end(request));
  }

  get isQuiet(): boolean {
    return this.inFlight.size === 0;
  }

  get awaitsAnswers(): boolean {
    return [...this.inFlight].some((request) => ANSWER_TYPES.has(request.resourceType()));
  }

  /** Resolves when nothing is under way, after `limitMs` at the latest. */
  async untilQuiet(limitMs: number): Promise<void> {
    if (this.isQuiet || limitMs <= 0) return;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.wake = resolve;
      timer = setTimeout(resolve, limitMs);
    });
    clearTimeout(timer);
  }

  private begin(request: Request): void {
    if (!COUNTED_TYPES.has(request.resourceType())) return;
    const address = request.url().replace(/[?#].*/, '');
    const times = (this.asked.get(address) ?? 0) + 1;
    this.asked.set(address, times);
    if (times > POLLING_AFTER) return;
    if (ANSWER_TYPES.has(request.resourceType())) this.answersAsked++;
    this.inFlight.add(request);
  }

  private end(request: Request): void {
    if (this.inFlight.delete(request) && this.isQuiet) this.wake();
  }
}

/**
 * Resolves when the page has loaded and rests. Its HTML is there already; `restMs` is called when it has loaded. Never
 * rejects.
 */
export async function waitUntilLoaded(
  page: Page,
  network: NetworkWatch,
  limits: { loadMs: number; restMs(): number },
): Promise<void> {
  const rest = new Rest(page, network);
  const loaded = page.waitForLoadState('load', { timeout: Math.max(1, limits.loadMs) }).catch(() => undefined);
  await rest.look(limits.loadMs);
  await loaded;
  await rest.reach(limits.restMs());
}

/** Resolves when a page that has loaded rests, or after `limitMs`. Never rejects. */
export async function waitUntilSettled(page: Page, network: NetworkWatch, limitMs: number): Promise<void> {
  await new Rest(page, network).reach(limitMs);
}

/** The activity of a page so far. */
class Rest {
  private size = '';
  private answersAsked = 0;
  private wasQuiet = false;
  private calmSince = performance.now();
  /** An answer has come, or is on its way, that the DOM does not show yet. */
  private isOwed = false;

  constructor(
    private readonly page: Page,
    private readonly network: NetworkWatch,
  ) {}

  async reach(limitMs: number): Promise<void> {
    const endsAt = performance.now() + limitMs;
    for (let leftMs = limitMs; leftMs > 0; leftMs = endsAt - performance.now()) {
      if (await this.look(leftMs)) return;
      if (this.network.isQuiet) await sleep(Math.min(SAMPLE_MS, leftMs));
      else await this.network.untilQuiet(leftMs);
    }
  }

  /** True: the page rests. */
  async look(limitMs: number): Promise<boolean> {
    const size = await this.domSize(limitMs);
    const { answersAsked, awaitsAnswers, isQuiet } = this.network;
    const hasChanged = size !== this.size;
    const hasAsked = answersAsked !== this.answersAsked || awaitsAnswers;
    if (hasChanged || hasAsked || !isQuiet || !this.wasQuiet) this.calmSince = performance.now();
    if (hasChanged) this.isOwed = false;
    if (awaitsAnswers || (hasAsked && !hasChanged)) this.isOwed = true;
    Object.assign(this, { size, answersAsked, wasQuiet: isQuiet });
    return isQuiet && performance.now() - this.calmSince >= (this.isOwed ? OWED_MS : CALM_MS);
  }

  /** A page that is just navigating, or whose script hangs, has no size. */
  private async domSize(limitMs: number): Promise<string> {
    return (await within(this.page.evaluate<string>(DOM_SIZE), limitMs)) ?? 'none';
  }
}
