import type { AttributeSelector, JsonSchema, PageDocument, SelectorSchema } from '@troupe/contracts';
import type { PageData } from './page-data.js';

/**
 * Port: a page whose formats are written. Each part is made when it is asked for; undefined: a page of this kind has none.
 * `markdown`, `html`, `links` and `images` are those of the part that tags and main content leave of the page.
 *
 * @throws TroupeError BAD_REQUEST for a bad selector
 */
export interface PageToWrite {
  /** `text`: something else than HTML; `file`: bytes that come back as they are, in base64. */
  readonly kind: 'html' | 'text' | 'file';
  /** The page as it came, as text. */
  readonly source: string;
  /** Keys of the document that a browser has given. */
  readonly captured: ReadonlySet<string>;
  markdown(): string;
  html(): string;
  links(): string[];
  images(): string[];
  attributes(asked: readonly AttributeSelector[]): PageDocument['attributes'];
  facts(selectors: SelectorSchema, schema: JsonSchema | null): unknown;
  /** Data that the whole page carries. */
  data(): PageData | undefined;
  /** Told with the document, before what was told earlier. */
  warn(text: string): void;
}
