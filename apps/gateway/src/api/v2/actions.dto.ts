/** The `actions` array (docs/api/scrape.md). */
import { PAPER_FORMATS } from '@troupe/contracts';
import { SCREENSHOT_OPTIONS } from '@troupe/formats';
import { isPlainObject, listIssues, numberIssues } from '../validation/fields.js';
import { customIssue, noUnionMember, wrongType, type Issue } from '../validation/issue.js';
import { optionIssues } from '../validation/option-issues.js';

type Action = Record<string, unknown>;

const isText = (value: unknown) => typeof value === 'string' && value !== '';
const isAbsentOrText = (value: unknown) => value === undefined || isText(value);
const isAbsentOrBoolean = (value: unknown) => value === undefined || typeof value === 'boolean';
const MAX_SCRIPT_CHARS = 100_000;
/** The range of scales that a browser prints. */
const PDF_SCALE = { min: 0.1, max: 2, integer: false };

const isWait = (value: unknown) => Number.isInteger(value) && (value as number) >= 1;

const ACTIONS: Record<string, (action: Action) => boolean> = {
  wait: ({ milliseconds, selector }) =>
    (milliseconds !== undefined || selector !== undefined) &&
    (milliseconds === undefined || isWait(milliseconds)) &&
    isAbsentOrText(selector),
  click: ({ selector, all }) => isText(selector) && isAbsentOrBoolean(all),
  write: ({ text, selector }) => typeof text === 'string' && isAbsentOrText(selector),
  press: ({ key }) => isText(key),
  scroll: ({ direction, selector }) =>
    [undefined, 'up', 'down'].includes(direction as string | undefined) && isAbsentOrText(selector),
  screenshot: (action) => optionIssues(SCREENSHOT_OPTIONS, action).length === 0,
  scrape: ({ selector }) => isAbsentOrText(selector),
  executeJavascript: ({ script }) => isText(script) && (script as string).length <= MAX_SCRIPT_CHARS,
  pdf: ({ format, landscape, scale }) =>
    (format === undefined || (PAPER_FORMATS as readonly unknown[]).includes(format)) &&
    isAbsentOrBoolean(landscape) &&
    (scale === undefined || numberIssues(scale, PDF_SCALE).length === 0),
};
const MAX_ACTIONS = 50;
const MAX_WAIT_MS = 60_000;
/** Time that waiting for a selector counts towards the limit. */
const SELECTOR_WAIT_MS = 1000;

export const ACTIONS_SCHEMA = {
  type: 'array',
  maxItems: MAX_ACTIONS,
  items: {
    type: 'object',
    required: ['type'],
    properties: { type: { type: 'string', enum: Object.keys(ACTIONS) } },
  },
};

export function actionsIssues(value: unknown, waitFor: unknown): Issue[] {
  const issues = listIssues(value, actionIssues, { maxItems: MAX_ACTIONS });
  if (issues.length > 0) return issues;
  const waitMs = (value as Action[]).reduce(
    (sum, action) => sum + waitOf(action),
    typeof waitFor === 'number' ? waitFor : 0,
  );
  return waitMs > MAX_WAIT_MS
    ? [customIssue(`Total wait time (waitFor + wait actions) cannot exceed ${MAX_WAIT_MS} ms`)]
    : [];
}

function actionIssues(action: unknown): Issue[] {
  if (!isPlainObject(action)) return [wrongType('object', action)];
  const isValid =
    typeof action.type === 'string' && Object.hasOwn(ACTIONS, action.type) ? ACTIONS[action.type] : undefined;
  return isValid?.(action) ? [] : [noUnionMember('Invalid action: unknown type, or a field is missing or wrong')];
}

function waitOf(action: Action): number {
  if (action.type !== 'wait') return 0;
  return (
    (typeof action.milliseconds === 'number' ? action.milliseconds : 0) +
    (action.selector === undefined ? 0 : SELECTOR_WAIT_MS)
  );
}
