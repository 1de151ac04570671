/**
 * A model's selectors for pages like one that it has read: they are asked for by path, verified, and corrected once.
 */
import type { JsonSchema, SelectorSchema } from '@troupe/contracts';
import type { ModelQuestion } from '../models/model.js';
import { pathsOf, selectorsOf, shapeOf, type PathSelector, type WishShape } from './wish-shape.js';

export type AskModel = (question: Omit<ModelQuestion, 'team'>) => Promise<unknown>;

export interface ReadPage {
  url: string;
  html: string;
  prompt: string | null;
  schema: JsonSchema;
  /** The value that the model read. */
  value: unknown;
}

/** Problems of selectors on the page; empty: they hold. */
export type Verify = (selectors: SelectorSchema) => Promise<string[]>;

/** Purpose of the calls. */
export const WRITE_SELECTORS = 'selectors';
const ATTEMPTS = 2;
const MAX_HTML_CHARS = 60_000;

const INSTRUCTIONS = `The data holds the HTML of a page and the facts that were read from it. Write CSS selectors that find these facts, on this page and on other pages of the same site.
Give one selector for each path. A path that ends with [] names the elements that the items of a list stand in; the selectors of paths behind it count from such an element, and "." is the element itself.
Prefer classes, ids and meaning over counted places, and never use texts that change from page to page. Name an attribute only where the fact stands in one (href, src, datetime, content).
Leave out a path that no selector can find.`;

/** Null when the wish is beyond selectors, or no selectors give the model's value. @throws what `ask` throws */
export async function writeRecipe(page: ReadPage, ask: AskModel, verify: Verify): Promise<SelectorSchema | null> {
  const shape = shapeOf(page.schema);
  if (shape === null) return null;
  let problems: string[] = [];
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const selectors = selectorsOf(shape, namedIn(await ask(questionOf(page, shape, problems))));
    problems = typeof selectors === 'string' ? [selectors] : await verify(selectors);
    if (typeof selectors !== 'string' && problems.length === 0) return selectors;
  }
  return null;
}

function questionOf(
  { url, html, prompt, value }: ReadPage,
  shape: WishShape,
  problems: string[],
): Omit<ModelQuestion, 'team'> {
  const data = [
    { label: 'page source', url, text: html.slice(0, MAX_HTML_CHARS) },
    { label: 'facts of the page', url: null, text: JSON.stringify(value) },
  ];
  if (problems.length > 0)
    data.push({ label: 'what earlier selectors got wrong', url: null, text: problems.join('\n') });
  return {
    purpose: WRITE_SELECTORS,
    instructions: INSTRUCTIONS,
    request: prompt,
    data,
    schema: answerSchema(pathsOf(shape)),
  };
}

function answerSchema(paths: string[]): JsonSchema {
  const field = {
    type: 'object',
    properties: {
      path: { type: 'string', enum: paths },
      selector: { type: 'string' },
      attribute: { type: ['string', 'null'] },
    },
    required: ['path', 'selector', 'attribute'],
    additionalProperties: false,
  };
  return {
    type: 'object',
    properties: { fields: { type: 'array', items: field } },
    required: ['fields'],
    additionalProperties: false,
  };
}

/** The selectors in an answer that satisfies `answerSchema`. */
function namedIn(answer: unknown): PathSelector[] {
  return (answer as { fields: PathSelector[] }).fields;
}
