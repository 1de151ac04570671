/** All formats. Code that has to know which there are asks this list. */
import type { Format, ModelFormat } from '@troupe/contracts';
import { attributes } from './attributes.js';
import { branding } from './branding.js';
import { changeTracking } from './change-tracking.js';
import type { FormatInput, FormatKind, FormatWords, SelectorLanguage, V1Name } from './format-kind.js';
import { highlights } from './highlights.js';
import { html } from './html.js';
import { images } from './images.js';
import { json } from './json.js';
import { links } from './links.js';
import { markdown } from './markdown.js';
import { product } from './product.js';
import { query } from './query.js';
import { question } from './question.js';
import { rawHtml } from './raw-html.js';
import { screenshot } from './screenshot.js';
import { summary } from './summary.js';

/** In the order in which they are named to callers and written. */
export const FORMATS: readonly FormatKind[] = [
  markdown,
  html,
  rawHtml,
  links,
  images,
  screenshot,
  branding,
  attributes,
  product,
  json,
  summary,
  question,
  highlights,
  changeTracking,
  query,
];

/** Words of other servers that speak the same interface. */
export const FORMATS_NOT_OFFERED: readonly string[] = ['rawBase64', 'deterministicJson', 'menu', 'audio', 'video'];

const BY_NAME: ReadonlyMap<string, FormatKind> = new Map(FORMATS.map((kind) => [kind.name, kind]));

/** undefined: there is no such format. */
export function formatKind(name: string): FormatKind | undefined {
  return BY_NAME.get(name);
}

export function formatName(format: FormatInput): string {
  return typeof format === 'string' ? format : format.type;
}

export function formatWords(format: FormatInput): FormatWords {
  return typeof format === 'string' ? { type: format } : format;
}

// ---- Words and model

/** Words that have been checked -> the model: each format once, without those that the model knows by another field. */
export function formatsFromV2(inputs: readonly FormatInput[], language: SelectorLanguage): Format[] {
  const meant = new Map<string, Format>();
  for (const input of inputs) {
    const format = formatFromV2(formatWords(input), language);
    if (format !== null && !meant.has(JSON.stringify(format))) meant.set(JSON.stringify(format), format);
  }
  return FORMATS.reduce(merged, [...meant.values()]);
}

function formatFromV2(words: FormatWords, language: SelectorLanguage): Format | null {
  const kind = formatKind(words.type);
  if (kind === undefined) return null;
  return kind.fromV2 === undefined ? ({ type: kind.name } as Format) : kind.fromV2(words, language);
}

function merged(formats: Format[], kind: FormatKind): Format[] {
  const asked = formats.filter(({ type }) => type === kind.name);
  if (kind.merged === undefined || asked.length < 2) return formats;
  return [...formats.filter(({ type }) => type !== kind.name), kind.merged(asked)];
}

export function formatToV2(format: Format, language: SelectorLanguage): FormatInput {
  return formatKind(format.type)?.toV2?.(format, language) ?? format.type;
}

/** Names that a v1 body may list. */
export const V1_NAMES: ReadonlyMap<string, V1Name> = new Map(
  FORMATS.flatMap(({ v1 }) => Object.entries(v1?.names ?? {})),
);

/** Names and options beside them, as v1 shows the options of a job. v1 does not know all formats. */
export function formatsToV1(formats: readonly Format[]): { formats: string[]; beside: Record<string, object> } {
  const known = formats.flatMap((format) => {
    const v1 = formatKind(format.type)?.v1;
    return v1 === undefined ? [] : [{ format, v1 }];
  });
  return {
    formats: known.map(({ format, v1 }) => v1.shownAs?.(format) ?? format.type),
    beside: Object.fromEntries(known.flatMap(({ format, v1 }) => (v1.shownBeside ? [v1.shownBeside(format)] : []))),
  };
}

// ---- Who makes them

/** Only a browser that shows the page can. */
export function needsBrowser(format: FormatInput): boolean {
  return formatKind(formatName(format))?.madeBy === 'browser';
}

/** The part of a wish that takes a language model, and where its words say so; null: none. */
export function modelPartOf(format: FormatInput): { what: string; path: (string | number)[] } | null {
  const words = formatWords(format);
  const kind = formatKind(words.type);
  if (kind?.modelPart !== undefined) return kind.modelPart(words);
  return kind?.madeBy === 'model' ? { what: `Format ${kind.name}`, path: [] } : null;
}

/** Whether a format is written by a language model, after the page was converted. */
export function isModelFormat(format: Format): format is ModelFormat {
  const kind = formatKind(format.type);
  return kind?.madeBy === 'model' && (kind.isMadeByModel?.(format) ?? true);
}

/** Key of the document that a format fills. */
export function documentKey(name: string): string {
  return formatKind(name)?.key ?? name;
}

/**
 * Credits that the parts of a page written by a model add to its price (docs/api/limits.md, "Credits").
 *
 * @param written keys of the document; `changeTracking` when a model named the differences
 */
export function modelCredits(written: readonly string[]): number {
  const priced = FORMATS.filter(({ name, key = name, price }) => price !== undefined && written.includes(key));
  const charges = new Map(priced.map(({ name, price }) => [price?.as ?? name, price?.credits ?? 0]));
  return [...charges.values()].reduce((sum, credits) => sum + credits, 0);
}
