/**
 * A stealth page lets its site see an ordinary Chromium on an ordinary computer. The window, the screen and the user
 * agent are options of the browser, so that headers, documents, frames and workers agree. The browser has no option for
 * the graphics card and the frame of the window, so a script in each document replaces them. The computer profiles are
 * made by Apify's fingerprint generator. No challenge of any site is solved here.
 */
import { createHash, randomInt } from 'node:crypto';
import type { BrowserContextOptions, Page } from 'playwright-core';
import type { EngineRequest } from '../http/engine.js';
import { readProfiles } from './computer-profile-thread.js';
import type { ComputerProfile, ComputerProfiles } from './computer-profile.js';

/** Rows of a window that tabs, address bar and the like take. */
const WINDOW_FRAME = 85;

export interface Disguise {
  contextOptions: BrowserContextOptions;
  /** Called before the page navigates. */
  putOn(page: Page): Promise<void>;
}

export class Disguises {
  private profiles: Promise<ComputerProfiles> | null = null;

  /** Pages that share a context seem to run on one computer. */
  async for({ view, contextKey }: EngineRequest): Promise<Disguise> {
    this.profiles ??= readProfiles();
    const profiles = (await this.profiles)[view.mobile ? 'phone' : 'desktop'];
    const profile = profiles[placeOf(contextKey, profiles.length)];
    if (profile === undefined) return { contextOptions: { userAgent: '' }, putOn: () => Promise.resolve() };
    const isPictured = view.screenshot !== null || view.actions.some(({ type }) => type === 'screenshot');
    const isFramed = !view.mobile && !isPictured;
    return {
      contextOptions: { userAgent: '', ...(isFramed ? screenOptions(profile) : {}) },
      putOn: async (page) => void (await page.addInitScript(disguiseDocument, { ...profile, isFramed })),
    };
  }
}

function screenOptions({ screen, taskBar }: ComputerProfile): BrowserContextOptions {
  const { width, height } = screen;
  const viewport = { width, height: height - taskBar - WINDOW_FRAME };
  return { screen: { width, height }, viewport };
}

function placeOf(contextKey: string | null, size: number): number {
  if (size === 0) return 0;
  return contextKey === null
    ? randomInt(size)
    : createHash('sha256').update(contextKey).digest().readUInt32BE(0) % size;
}

/** Runs in the page: it knows nothing of this module. */
function disguiseDocument({ videoCard, screen, taskBar, isFramed }: ComputerProfile & { isFramed: boolean }): void {
  const VENDOR = 0x9245;
  const RENDERER = 0x9246;
  const scope = globalThis as unknown as Record<string, { prototype: object } | undefined>;
  const replaceGetter = (owner: object, name: string, value: number): void => {
    const own = Object.getOwnPropertyDescriptor(owner, name);
    if (own?.get === undefined || own.configurable !== true) return;
    Object.defineProperty(owner, name, { ...own, get: new Proxy(own.get, { apply: () => value }) });
  };
  for (const name of ['WebGLRenderingContext', 'WebGL2RenderingContext']) {
    const prototype = scope[name]?.prototype;
    const own = prototype === undefined ? undefined : Object.getOwnPropertyDescriptor(prototype, 'getParameter');
    if (prototype === undefined || own === undefined) continue;
    const getParameter = new Proxy(own.value as (parameter: number) => unknown, {
      apply(target, context, args: [number]) {
        const value: unknown = Reflect.apply(target, context, args);
        if (value === null) return value;
        if (args[0] === VENDOR) return videoCard.vendor;
        return args[0] === RENDERER ? videoCard.renderer : value;
      },
    });
    Object.defineProperty(prototype, 'getParameter', { ...own, value: getParameter });
  }
  if (!isFramed) return;
  replaceGetter(globalThis, 'outerWidth', screen.width);
  replaceGetter(globalThis, 'outerHeight', screen.height - taskBar);
  const screenPrototype = scope.Screen?.prototype;
  if (screenPrototype !== undefined) replaceGetter(screenPrototype, 'availHeight', screen.height - taskBar);
}
