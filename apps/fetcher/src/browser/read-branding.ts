/** The `branding` format: the look of the page in the browser, read once and judged by rules. No model, no network. */
import {
  brandProfile,
  collectEvidence,
  type BrandEvidence,
  type BrandProfile,
  type EvidenceLimits,
} from '@troupe/branding';
import type { CDPSession, Page } from 'playwright-core';

const LIMITS: EvidenceLimits = { maxElements: 3000, budgetMs: 300 };
/** The browser ends what takes longer; measured on a page that is at rest, on a busy machine. */
const SCRIPT_LIMIT_MS = 3_000;
const READ_TRIES = 3;
const WORLD = 'troupe-branding';
const FOCUSABLE = 'input:not([type=hidden]):not([type=submit]):not([type=button]), textarea, select';

/** A script may navigate away just now; then the next document is read. */
export async function readBranding(page: Page): Promise<BrandProfile> {
  for (let attempt = 1; ; attempt++) {
    try {
      return brandProfile(await readEvidence(page));
    } catch (error) {
      if (attempt === READ_TRIES) throw error;
      await page.waitForLoadState('domcontentloaded').catch(() => undefined);
    }
  }
}

async function readEvidence(page: Page): Promise<BrandEvidence> {
  const session = await page.context().newCDPSession(page);
  try {
    const contextId = await openWorld(session);
    const evidence = await evaluate<BrandEvidence>(
      session,
      contextId,
      `(${collectEvidence.toString()})(${JSON.stringify(LIMITS)})`,
    );
    const focused = evidence.inputs[0];
    if (focused !== undefined) focused.focusBorder = await focusBorder(session, contextId).catch(() => '');
    return evidence;
  } finally {
    await session.detach().catch(() => undefined);
  }
}

/** A world beside the page's own: what the page did to its built-in functions is not seen there. */
async function openWorld(session: CDPSession): Promise<number> {
  const { frameTree } = await session.send('Page.getFrameTree');
  const { executionContextId } = await session.send('Page.createIsolatedWorld', {
    frameId: frameTree.frame.id,
    worldName: WORLD,
  });
  return executionContextId;
}

async function evaluate<T>(session: CDPSession, contextId: number, expression: string): Promise<T> {
  const { result, exceptionDetails } = await session.send('Runtime.evaluate', {
    expression,
    contextId,
    returnByValue: true,
    timeout: SCRIPT_LIMIT_MS,
  });
  if (exceptionDetails !== undefined) {
    throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  }
  return result.value as T;
}

/**
 * Colour that marks a field with the focus: that of its border when it changes, else of its outline. The browser only
 * shows it so; nothing happens in the page.
 */
async function focusBorder(session: CDPSession, contextId: number): Promise<string> {
  const field = `[...document.querySelectorAll(${JSON.stringify(FOCUSABLE)})].find((field) => field.checkVisibility())`;
  const { result } = await session.send('Runtime.evaluate', { expression: field, contextId, timeout: SCRIPT_LIMIT_MS });
  if (result.objectId === undefined) return '';
  const { objectId } = result;
  const plain = await markOf(session, objectId);
  await session.send('DOM.enable');
  await session.send('DOM.getDocument', { depth: 0 });
  const { nodeId } = await session.send('DOM.requestNode', { objectId });
  await session.send('CSS.enable');
  const forcedPseudoClasses = ['focus', 'focus-visible'];
  await session.send('CSS.forcePseudoState', { nodeId, forcedPseudoClasses });
  const { border, outline } = await markOf(session, objectId);
  await session.send('CSS.forcePseudoState', { nodeId, forcedPseudoClasses: [] });
  return border !== plain.border || outline === '' ? border : outline;
}

interface FieldMark {
  /** Colours; '' without one, or with the browser's own outline. */
  border: string;
  outline: string;
}

/** The look of a field once its transitions are over. */
const MARK_OF_FIELD = `function () {
  const style = getComputedStyle(this);
  style.borderBottomColor;
  for (const animation of this.getAnimations()) if (animation instanceof CSSTransition) animation.finish();
  const hasBorder = parseFloat(style.borderBottomWidth) > 0;
  const hasOutline = !['none', 'auto'].includes(style.outlineStyle) && parseFloat(style.outlineWidth) > 0;
  return { border: hasBorder ? style.borderBottomColor : '', outline: hasOutline ? style.outlineColor : '' };
}`;

async function markOf(session: CDPSession, objectId: string): Promise<FieldMark> {
  const shown = await session.send('Runtime.callFunctionOn', {
    objectId,
    functionDeclaration: MARK_OF_FIELD,
    returnByValue: true,
  });
  return shown.result.value as FieldMark;
}
