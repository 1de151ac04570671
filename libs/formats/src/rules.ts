/** Rules for the options of a format. The edge says in its own words how a value breaks them. */
export type Rule = (
  | { is: 'text'; minLength?: number; maxLength?: number }
  | { is: 'wholeNumber'; min: number; max: number }
  | { is: 'flag' }
  | { is: 'word'; of: readonly string[] }
  | { is: 'list'; of: Rule; maxItems?: number }
  | { is: 'object'; of: Options }
  /** CSS. */
  | { is: 'selector' }
  /** Facts by selectors (docs/selectors.md). */
  | { is: 'selectors' }
  | { is: 'jsonSchema'; needsModel: boolean }
  /** The option must be absent. */
  | { is: 'refused'; because: string }
  /** Known to clients, but not offered: true is refused. */
  | { is: 'notOffered' }
) & { required?: true };

/** By name, in the order in which they are checked. */
export type Options = Readonly<Record<string, Rule>>;

/** Length of everything that is written for a language model. */
export const MAX_PROMPT_CHARS = 10_000;

/** The question of a caller to a model. */
export const QUESTION: Rule = { is: 'text', minLength: 1, maxLength: MAX_PROMPT_CHARS, required: true };

/** The contents that a model is to fill in. */
export const MODEL_PROMPT = {
  prompt: { is: 'text', maxLength: MAX_PROMPT_CHARS },
  schema: { is: 'jsonSchema', needsModel: true },
} as const satisfies Options;
