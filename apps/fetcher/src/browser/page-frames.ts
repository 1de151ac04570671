/**
 * The page as one document: its DOM, with what visible frames show in their place. A frame becomes
 * `<div data-iframe-src="…">` with its id, class, name, title and src, so that selectors written for the frame find it.
 */
import { randomUUID } from 'node:crypto';
import type { Frame, Page } from 'playwright-core';
import { within } from './within.js';

const MAX_FRAMES = 20;
const MAX_DEPTH = 3;
/** Size of all frames together, in characters. */
const MAX_FRAME_CHARS = 2 * 1024 * 1024;
/** Time for all frames together. A frame that does not answer is left as it is. */
const FRAMES_MS = 800;
const READ_TRIES = 3;

const SERIALISE = `(() => {
  const type = document.doctype;
  const head = type === null ? '' : new XMLSerializer().serializeToString(type) + '\\n';
  return head + (document.documentElement === null ? '' : document.documentElement.outerHTML);
})()`;

/** Addresses are made absolute: they belong to the frame's document, not to the page's. Scripts and styles stay behind. */
const SERIALISE_FRAME = `((maxChars) => {
  if (!document.body || document.body.textContent.trim() === '' && !document.images.length) return '';
  const copy = document.body.cloneNode(true);
  for (const gone of copy.querySelectorAll('script,style,noscript,template,link,meta,base')) gone.remove();
  const absolute = (name) => {
    for (const element of copy.querySelectorAll('[' + name + ']')) {
      const url = URL.parse ? URL.parse(element.getAttribute(name), document.baseURI) : null;
      if (url) element.setAttribute(name, url.href);
    }
  };
  absolute('href');
  absolute('src');
  const html = copy.innerHTML;
  return html.length > maxChars ? '' : html;
})`;

/** As much of a frame's element as `swap` needs, which runs in the page. */
interface FrameElement {
  src: string;
  ownerDocument: {
    createElement(name: string): { outerHTML: string; setAttribute(name: string, value: string): void };
    createComment(text: string): unknown;
    defaultView: { getComputedStyle(element: FrameElement): { visibility: string } };
  };
  getBoundingClientRect(): { width: number; height: number };
  getAttribute(name: string): string | null;
  replaceWith(node: unknown): void;
}

/**
 * Puts a comment in the place of a visible frame and tells what that place is called; null for a frame that is not
 * visible.
 */
function swap(frame: FrameElement, token: string): string | null {
  const page = frame.ownerDocument;
  const { width, height } = frame.getBoundingClientRect();
  const { visibility } = page.defaultView.getComputedStyle(frame);
  if (width < 50 || height < 50 || visibility === 'hidden') return null;
  const place = page.createElement('div');
  for (const name of ['id', 'class', 'name', 'title']) {
    const value = frame.getAttribute(name);
    if (value !== null) place.setAttribute(name, value);
  }
  for (const name of ['src', 'data-iframe-src']) place.setAttribute(name, frame.src);
  frame.replaceWith(page.createComment(token));
  return place.outerHTML;
}

/** Reads the page for the last time: the frames are taken out of it. */
export async function serialisePage(page: Page): Promise<string> {
  const budget = { frames: MAX_FRAMES, chars: MAX_FRAME_CHARS, endsAt: performance.now() + FRAMES_MS };
  const insets = await readInsets(page.mainFrame(), budget, 1);
  return fill(await serialiseMain(page), insets);
}

/** A script may navigate away just now; then the next document is read. */
async function serialiseMain(page: Page): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await page.evaluate<string>(SERIALISE);
    } catch (error) {
      if (attempt === READ_TRIES) throw error;
      await page.waitForLoadState('domcontentloaded').catch(() => undefined);
    }
  }
}

interface Budget {
  frames: number;
  chars: number;
  endsAt: number;
}

/** HTML of the frames, by the comments that hold their places. */
type Insets = Map<string, string>;

async function readInsets(parent: Frame, budget: Budget, depth: number): Promise<Insets> {
  const insets: Insets = new Map();
  if (depth > MAX_DEPTH) return insets;
  for (const frame of parent.childFrames()) {
    if (budget.frames-- <= 0) break;
    const inset = await within(readInset(frame, budget, depth), budget.endsAt - performance.now());
    if (inset !== null) insets.set(inset.token, inset.html);
  }
  return insets;
}

async function readInset(frame: Frame, budget: Budget, depth: number): Promise<{ token: string; html: string } | null> {
  const inner = await readInsets(frame, budget, depth + 1);
  const body = fill(await frame.evaluate<string>(`${SERIALISE_FRAME}(${budget.chars})`), inner);
  if (body === '') return null;
  const token = randomUUID();
  const element = await frame.frameElement();
  const place = await element.evaluate(swap as (element: unknown, token: string) => string | null, token);
  if (place === null) return null;
  budget.chars -= body.length;
  return { token, html: place.replace('</div>', () => `${body}</div>`) };
}

function fill(html: string, insets: Insets): string {
  if (insets.size === 0) return html;
  return html.replace(/<!--([0-9a-f-]{36})-->/g, (comment, token: string) => insets.get(token) ?? comment);
}
