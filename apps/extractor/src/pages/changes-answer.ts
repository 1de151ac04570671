/** `changeTracking` in mode `json` (docs/api/formats.md): what changed between two versions of a page. */
import { TroupeError, type JsonSchema } from '@troupe/contracts';
import { estimateTokens, isEmpty, isSame, splitMarkdown } from '@troupe/extraction';
import { CHANGES_OF_PAGE } from './instructions.js';
import type { PageAnswer, SchemaCheck } from '../models/schema-check.js';
import { answerJson } from './json-answer.js';
import { promptTokens, type PageCalls } from './page-calls.js';
import { isTooLong, type PageText } from './read-parts.js';

export interface ChangesWish {
  prompt: string | null;
  schema: JsonSchema | null;
}

interface Tools {
  calls: PageCalls;
  check: SchemaCheck;
}

const FREE: JsonSchema = { type: 'object' };
const PLAIN_REQUEST = 'What changed.';
const MAX_TRIES = 3;
/** A text with more characters is too long without counting its tokens. */
const MAX_CHARS_PER_TOKEN = 12;

/** With a schema `{field: {previous, current}}` of the fields that differ, else an object as the prompt asks. */
export function answerChanges(page: PageText, previous: string, wish: ChangesWish & Tools): Promise<PageAnswer> {
  const { schema } = wish;
  return schema === null ? describeChanges(page, previous, wish) : compareFields(page, previous, { ...wish, schema });
}

async function compareFields(
  page: PageText,
  previous: string,
  { prompt, schema, ...tools }: ChangesWish & { schema: JsonSchema } & Tools,
): Promise<PageAnswer> {
  const read = (text: PageText) => answerJson(text, { prompt, schema }, tools);
  const [before, now] = await Promise.all([
    read({ ...page, markdown: previous, label: 'earlier version', title: null }),
    read({ ...page, title: null }),
  ]);
  const warnings = [...new Set([...now.warnings, ...before.warnings])];
  return { value: differences(before.value, now.value), warnings };
}

/** Fields of the outermost object that tell something else; of a value that is no object, the value itself. */
export function differences(
  previous: unknown,
  current: unknown,
): Record<string, { previous: unknown; current: unknown }> {
  const [before, now] = [fieldsOf(previous), fieldsOf(current)];
  const names = [...new Set([...Object.keys(now), ...Object.keys(before)])];
  const changed = names.filter((name) => !isSame(before[name], now[name]));
  return Object.fromEntries(changed.map((name) => [name, { previous: told(before[name]), current: told(now[name]) }]));
}

function fieldsOf(value: unknown): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  return { value };
}

function told(value: unknown): unknown {
  return isEmpty(value) && !Array.isArray(value) ? null : value;
}

async function describeChanges(
  page: PageText,
  previous: string,
  { prompt, calls }: ChangesWish & Tools,
): Promise<PageAnswer> {
  const request = prompt ?? PLAIN_REQUEST;
  const room = calls.roomBeside(promptTokens(CHANGES_OF_PAGE, request, FREE));
  let versions = shortened({ previous, current: page.markdown }, room);
  for (let tries = 1; ; tries++) {
    const data = [
      { label: 'earlier version', url: page.url, text: versions.previous },
      { label: 'current version', url: page.url, text: versions.current },
    ];
    try {
      const question = { purpose: 'changes', instructions: CHANGES_OF_PAGE, request, data, schema: FREE };
      return { value: await calls.ask(question), warnings: versions.warnings };
    } catch (error) {
      if (!isTooLong(error) || tries === MAX_TRIES) throw error;
      versions = shortened({ previous, current: page.markdown }, room / 2 ** tries);
    }
  }
}

interface Versions {
  previous: string;
  current: string;
}

/** Both versions in so many tokens: whole, else the lines that only one of them has, else the first of those. */
function shortened(versions: Versions, room: number): Versions & { warnings: string[] } {
  if (fits(versions.previous + versions.current, room)) return { ...versions, warnings: [] };
  const previous = linesMissingIn(versions.current, versions.previous);
  const current = linesMissingIn(versions.previous, versions.current);
  if (previous === '' && current === '')
    throw new TroupeError('SCRAPE_JSON_FAILED', 'The versions differ in their order only');
  const half = Math.floor(room / 2);
  const [before, now] = [firstPart(previous, half), firstPart(current, half)];
  const isTrimmed = before.length < previous.length || now.length < current.length;
  const warnings = isTrimmed ? [`The differences of the page were trimmed to ${Math.floor(room)} tokens.`] : [];
  return { previous: before, current: now, warnings };
}

function linesMissingIn(other: string, text: string): string {
  const known = new Set(other.split('\n').map((line) => line.trim()));
  return text
    .split('\n')
    .filter((line) => line.trim() !== '' && !known.has(line.trim()))
    .join('\n');
}

function fits(text: string, maxTokens: number): boolean {
  return text.length <= maxTokens * MAX_CHARS_PER_TOKEN && estimateTokens(text) <= maxTokens;
}

function firstPart(text: string, maxTokens: number): string {
  return fits(text, maxTokens) ? text : (splitMarkdown(text, maxTokens).next().value?.text ?? '');
}
