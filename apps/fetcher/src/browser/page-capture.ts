/** The results of a page's actions, and a picture of the page after them. */
import type { Captured } from '@troupe/contracts';
import { runActions } from './actions/run-actions.js';
import type { PageView } from '../http/engine.js';
import { takeScreenshot } from './screenshots.js';
import type { Stage } from './stage.js';

export async function capturePage(stage: Stage, { actions, screenshot }: PageView): Promise<Captured> {
  const captured: Captured = {};
  if (actions.length > 0) captured.actions = await runActions(stage, actions);
  if (screenshot !== null) captured.screenshot = await takeScreenshot(stage, { ...screenshot, viewport: null });
  if (stage.warnings.length > 0) captured.warning = [...new Set(stage.warnings)].join(' ');
  return captured;
}
