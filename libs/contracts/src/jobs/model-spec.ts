/** The wishes that a language model is to fulfil from pages (docs/api/formats.md, "json behaviour"; docs/api/extract.md). */

/** A JSON Schema (2020-12 or draft-07) as the caller sent it: it compiles. */
export type JsonSchema = Record<string, unknown>;

/**
 * Facts picked from a page without a model: an object of fields, or one value. `selector` is CSS, or XPath when it begins
 * with `/` or `./`, and counts from the element of the object around it.
 */
export type SelectorSchema =
  | { type: 'object'; selector: string | null; fields: Record<string, SelectorSchema> }
  | { type: 'list'; selector: string; item: SelectorSchema }
  | {
      type: 'value';
      /** null: the element itself. */
      selector: string | null;
      /** null: the element's text; `html`: its inner HTML. */
      attribute: string | null;
      as: 'string' | 'number' | 'integer' | 'boolean' | 'date' | 'url';
    };

/** Formats that are made from a page's other formats, by a model unless it names selectors. */
export type ModelFormat =
  | {
      type: 'json';
      prompt: string | null;
      schema: JsonSchema | null;
      /** Taken from the page by these instead of by a model. */
      selectors: SelectorSchema | null;
      /** A model may be asked once for selectors that answer for the pages of a host from then on. */
      learn: boolean;
      /** Key of the document under v1's old name of this format. @default the format's own */
      key?: 'extract';
    }
  | { type: 'summary' }
  | { type: 'question'; question: string }
  | { type: 'highlights'; query: string };

/** A part that a model can write of one page. */
export type ModelPart = ModelFormat['type'] | 'changes';

/** One credit buys this many tokens, of the prompt and of the answer alike. */
export const TOKENS_PER_CREDIT = 15;

export function tokenCredits(tokens: number): number {
  return Math.ceil(tokens / TOKENS_PER_CREDIT);
}

/** Which model answers, and how it is reached: of a team, or of the installation. */
export interface ModelAccess {
  provider: 'openai' | 'azure' | 'anthropic' | 'google' | 'ollama';
  model: string;
  /** null: the provider's own address. */
  baseUrl: string | null;
  apiKey: string | null;
}

export const MODEL_PROVIDERS = [
  'openai',
  'azure',
  'anthropic',
  'google',
  'ollama',
] as const satisfies readonly ModelAccess['provider'][];

/** A model's access as it is shown: everything but its key. */
export type ShownModel = Omit<ModelAccess, 'apiKey'> & { hasKey: boolean };
