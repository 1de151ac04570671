/** A format of a page: how it is asked for, made and written, and what it costs. */
import type { Format, JsonSchema, SelectorSchema } from '@troupe/contracts';
import type { PageToWrite } from './page-to-write.js';
import type { Options } from './rules.js';
import type { Schema } from './schema-parts.js';

/** A format in the words of v2. */
export interface FormatWords {
  type: string;
  [option: string]: unknown;
}
/** A name alone stands for the words without options. */
export type FormatInput = string | FormatWords;

/** Facts by selectors, between words and model. A caller that knows selectors hands it in. */
export interface SelectorLanguage {
  /** null: the words are wrong. */
  read(words: unknown): SelectorSchema | null;
  write(schema: SelectorSchema): unknown;
}

export interface V1Name {
  /** Key of a v1 body under which the options of the format stand. */
  options?: string;
  /** The body must have that key. @default false */
  needsOptions?: true;
  /** The same in v2's words. @default the name itself */
  toV2?(options: Record<string, unknown> | undefined): FormatInput;
}

export interface V1Words<F> {
  /** Names that a body may list. */
  names: Readonly<Record<string, V1Name>>;
  /** Name in the options of a job that is shown. @default v2's name */
  shownAs?(format: F): string;
  /** Key and value that stand beside the names in such options. */
  shownBeside?(format: F): [key: string, value: object];
}

/** One format: a plain object in a file of its own. `F` is its arm of the model. */
export interface FormatKind<F = Format> {
  /** v2's word for it, and `type` of its arm. */
  readonly name: string;
  /** Key of the document that holds it. @default its name */
  readonly key?: string;
  /** A format of the history or of a model is made after the page was converted. */
  readonly madeBy: 'converter' | 'browser' | 'history' | 'model';
  /** Keys that it may add to a document. */
  readonly answers: Readonly<Record<string, Schema>>;
  /** Schemas by the names under which `answers` refers to them. */
  readonly components?: Readonly<Record<string, Schema>>;

  // ---- How it is asked for
  /** @default none */
  readonly options?: Options;
  /** The rules for these words, where options depend on each other. */
  optionsFor?(words: FormatWords): Options;
  /** Fault of the words as a whole; null: none. */
  objection?(words: FormatWords): string | null;
  /** A name alone is not enough. @default false */
  readonly needsOptions?: true;
  /** Keys without a meaning are ignored. @default they are refused */
  readonly isLoose?: true;
  /** A request may have it once, however often it is said in the same words. @default false */
  readonly isSingle?: true;
  /** Another format that must be asked for beside it. */
  readonly requires?: string;
  /** Fault of all wishes for it in one request; null: none. */
  objectionToAll?(all: readonly FormatInput[]): string | null;
  /** Key of the document that its options decide: two different wishes for one key cannot both be had. */
  fills?(words: FormatWords): string;
  /** The part of it that takes a language model, and where the words say so. @default all of it when a model makes it */
  modelPart?(words: FormatWords): { what: string; path: (string | number)[] } | null;
  /** @default `{type: name}`; null: the model knows it by a field of its own */
  fromV2?(words: FormatWords, language: SelectorLanguage): Format | null;
  /** @default its name */
  toV2?(format: F, language: SelectorLanguage): FormatInput;
  /** Several wishes as one. @default each stays */
  merged?(formats: readonly F[]): F;
  /** @default unknown to v1 */
  readonly v1?: V1Words<F>;

  // ---- How it is written
  /** Made of the whole page instead of what tags and main content leave of it; written before the others. @default false */
  readonly ofWholePage?: true;
  /** undefined: the page has none, and the document no such key. Notes for the reader go to `page.warn`. */
  write?(page: PageToWrite, format: F): unknown;

  // ---- The part of a language model
  /** Whether a model makes it. @default by `madeBy` */
  isMadeByModel?(format: F): boolean;
  /** A failure costs this format only, even if nothing else was asked for. @default false */
  readonly isDispensable?: true;
  /** Credits of a page for which a model wrote it; one charge for all formats of the same `as`. @default free */
  readonly price?: { credits: number; as?: 'facts' };
}

/** Contents that a model fills in. */
export interface ModelPrompt {
  prompt: string | null;
  schema: JsonSchema | null;
}
