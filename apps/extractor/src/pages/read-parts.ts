/**
 * A page read part by part, as many parts as the budget allows, a few at a time.
 *
 * A part for which the model finds its context too short is cut in two. A part without a usable answer is left out. An
 * error that stops the model altogether stops the reading, and the parts read until then count. Warnings tell of both.
 */
import { TroupeError } from '@troupe/contracts';
import { splitMarkdown, type MarkdownPart } from '@troupe/extraction';
import { ModelError } from '../models/model-error.js';
import type { DataBlock } from '../models/model.js';
import type { PageCalls } from './page-calls.js';
import { takeTurn } from './turns.js';

export interface PageText {
  /** Kind of the text, in our words. */
  label: string;
  url: string;
  title: string | null;
  markdown: string;
}

export interface PartReader<T> {
  calls: PageCalls;
  /** Size of a call without its data. */
  promptTokens: number;
  /** Share of the budget that is left for calls after the reading. @default 0 */
  spare?: number;
  /** @default as many as fit into a call */
  maxPartTokens?: number;
  /** The first part is read before the others begin. @default false */
  firstAlone?: boolean;
  /** @param isWhole the block is all of the page */
  read(block: DataBlock, isWhole: boolean): Promise<T>;
}

export interface PagesRead<T> {
  /** One per part that was read, in the order of the page. */
  values: T[];
  /** The only value is of the whole page. */
  isWhole: boolean;
  warnings: string[];
}

const PARTS_AT_ONCE = 4;
const MIN_PART_TOKENS = 100;
const MAX_TITLE_CHARS = 300;

/** @throws the first part's error, when no part could be read */
export async function readParts<T>(page: PageText, reader: PartReader<T>): Promise<PagesRead<T>> {
  if (page.markdown.trim() === '') throw new TroupeError('SCRAPE_JSON_FAILED', 'The page has no text to read');
  await takeTurn();
  const reading = new Reading(page, reader);
  await reading.run();
  return reading.result();
}

interface Outcome<T> {
  values: T[];
  error: unknown;
}

class Reading<T> {
  private readonly parts: Iterator<MarkdownPart>;
  private readonly outcomes: Outcome<T>[] = [];
  private next: MarkdownPart | null;
  private started = 0;
  private startedTokens = 0;
  private startedChars = 0;
  private isOver = false;
  /** The error that stopped the reading before the end of the page. */
  private stop: unknown = null;
  private isWhole = false;

  constructor(
    private readonly page: PageText,
    private readonly reader: PartReader<T>,
  ) {
    const room = reader.calls.roomBeside(reader.promptTokens);
    this.parts = splitMarkdown(page.markdown, Math.min(room, reader.maxPartTokens ?? room));
    this.next = this.pull();
  }

  async run(): Promise<void> {
    const first = this.take();
    if (first === null) return;
    const isWhole = this.next === null;
    const reading = this.read(first, isWhole);
    if (this.reader.firstAlone === true) await reading;
    const others = Array.from({ length: PARTS_AT_ONCE - 1 }, () => this.readOthers());
    await Promise.all([reading.then(() => this.readOthers()), ...others]);
  }

  result(): PagesRead<T> {
    const values = this.outcomes.flatMap((outcome) => outcome.values);
    const failures = this.outcomes.filter(({ error }) => error !== null);
    if (values.length === 0 && failures.length > 0) throw failures[0]!.error;
    return { values, isWhole: this.isWhole, warnings: this.warnings(failures) };
  }

  private async readOthers(): Promise<void> {
    for (let part = this.take(); part !== null; part = this.take()) await this.read(part, false);
  }

  private async read(part: TakenPart, isWhole: boolean): Promise<void> {
    const { calls, promptTokens } = this.reader;
    try {
      this.outcomes[part.index] = { values: await this.valuesOf(part, part.label, isWhole), error: null };
    } catch (error) {
      this.outcomes[part.index] = { values: [], error };
      if (isOnlyThisPart(error)) return;
      this.isOver = true;
      this.stop ??= error;
    } finally {
      calls.release(promptTokens, part.tokens);
    }
  }

  private async valuesOf(part: { text: string; tokens: number }, label: string, isWhole: boolean): Promise<T[]> {
    const { url } = this.page;
    try {
      const value = await this.reader.read({ label, url, text: part.text }, isWhole);
      this.isWhole = isWhole;
      return [value];
    } catch (error) {
      if (!isTooLong(error) || part.tokens < 2 * MIN_PART_TOKENS) throw error;
      const values: T[] = [];
      for (const half of splitMarkdown(part.text, Math.ceil(part.tokens * 0.55))) {
        values.push(...(await this.valuesOf(half, label, false)));
      }
      return values;
    }
  }

  /** The next part, unless the page or the budget is at its end. */
  private take(): TakenPart | null {
    const part = this.next;
    if (part === null || this.isOver) return null;
    const { calls, promptTokens, spare = 0 } = this.reader;
    if (!calls.reserve(promptTokens, part.tokens, { spare })) {
      this.isOver = true;
      return null;
    }
    this.next = this.pull();
    const index = this.started++;
    this.startedTokens += part.tokens;
    this.startedChars = part.readChars;
    const isOnly = index === 0 && this.next === null;
    const label = isOnly ? this.page.label : `${this.page.label}, part ${index + 1}`;
    return { index, label, tokens: part.tokens, text: index === 0 ? this.withTitle(part.text) : part.text };
  }

  private pull(): MarkdownPart | null {
    const { done, value } = this.parts.next();
    return done === true ? null : value;
  }

  /** The title is untrusted text of the page, so it stands with the page's data. */
  private withTitle(text: string): string {
    const title = this.page.title?.trim().slice(0, MAX_TITLE_CHARS) ?? '';
    return title === '' || text.includes(title) ? text : `Title: ${title}\n\n${text}`;
  }

  private warnings(failures: readonly Outcome<T>[]): string[] {
    const { label } = this.page;
    const warnings: string[] = [];
    if (failures.length > 0) {
      const reason = reasonOf(this.stop ?? failures[0]!.error);
      warnings.push(`${failures.length} of ${this.started} parts of the ${label} could not be read: ${reason}`);
    }
    if (this.next === null) return warnings;
    const total = Math.round(this.startedTokens * (this.page.markdown.length / Math.max(1, this.startedChars)));
    const why = this.stop === null ? 'was trimmed to' : 'was not read further than';
    return [...warnings, `The ${label} ${why} ${this.startedTokens} of about ${total} tokens.`];
  }
}

/** The reason as a sentence. */
function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

interface TakenPart {
  index: number;
  label: string;
  text: string;
  tokens: number;
}

export function isTooLong(error: unknown): boolean {
  return error instanceof ModelError && error.isTooLong;
}

/** True for a useless answer, or a part that does not fit: the next part may succeed. */
function isOnlyThisPart(error: unknown): boolean {
  return error instanceof TroupeError && error.code === 'SCRAPE_JSON_FAILED' && !error.retryable;
}
