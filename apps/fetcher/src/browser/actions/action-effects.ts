/**
 * Waits for the effects of an action: for a navigation until its page rests, for requests of the page until they are
 * answered.
 */
import type { Request } from 'playwright-core';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMainNavigation } from '../main-navigation.js';
import type { Stage } from '../stage.js';
import { within } from '../within.js';

/** A click begins its navigation or its requests within this time. */
const BEGIN_MS = 100;
const POLL_MS = 50;
const LOAD_LIMIT_MS = 10_000;
const SETTLE_LIMIT_MS = 5_000;

export class ActionEffects {
  /** Request of the main frame's navigation, until its document has come; null: none is under way. */
  private navigation: Request | null = null;

  constructor(private readonly stage: Stage) {
    const { page } = stage;
    page.on('request', (request) => {
      if (isMainNavigation(request, page)) this.navigation = request;
    });
    page.on('requestfailed', (request) => {
      if (request === this.navigation) this.navigation = null;
    });
    page.on('domcontentloaded', () => (this.navigation = null));
  }

  /** Called after an action that may lead elsewhere or load more. Only the deadline ends the wait for another page. */
  async wait(): Promise<void> {
    await sleep(BEGIN_MS, undefined, { signal: this.stage.signal });
    if (this.navigation !== null) await this.arrive();
    else if (!this.stage.isQuiet()) await this.stage.settle(SETTLE_LIMIT_MS);
  }

  /** Called before an action: the page may have begun to navigate by itself. */
  async arrive(): Promise<void> {
    if (this.navigation === null) return;
    const { page, signal } = this.stage;
    while (this.navigation !== null) await sleep(POLL_MS, undefined, { signal });
    await within(page.waitForLoadState('load'), LOAD_LIMIT_MS);
    await this.stage.settle(SETTLE_LIMIT_MS);
  }
}
