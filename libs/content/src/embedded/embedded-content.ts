/**
 * Content that a page carries as data besides its markup: JSON-LD of a product, the text of an article, the state of an
 * application. Text that a reader of the page cannot see is no content, except here, where scripts would have shown it.
 */
import { isObject, type LdGraph } from '../metadata/json-ld.js';
import type { Tree } from '@troupe/html';
import { Phrases } from './phrases.js';
import { readProduct, type EmbeddedProduct } from './product.js';
import { escapeAngles, plainText, richText } from './rich-text.js';
import { readState, type Passage } from './state.js';

export interface EmbeddedContent {
  readonly product: EmbeddedProduct | null;
  /** HTML of `articleBody`, '' when there is none. */
  readonly articleBody: string;
  /** Texts of application state about the page's subject; read when asked for, since the state can be large. */
  passages(): readonly Passage[];
}

/** Below this a page is thin: what it shows may be only what surrounds the content. Characters of markdown. */
const THIN_CHARS = 800;
/** A text is added when this part of its phrases is new. */
const MIN_NEW_SHARE = 0.6;
/** Data add a section to a product's page from this part of the page on. Below it they are a line of advertising. */
const MIN_ADDED_PART = 0.04;
/** An article's text is added when the page shows less than this part of it. */
const MAX_SHOWN_PART = 0.5;

/** @param title of the page, null when it has none. */
export function readEmbedded(tree: Tree, graph: LdGraph, title: string | null): EmbeddedContent {
  const product = readProduct(graph);
  const names = [product?.name ?? '', title ?? ''];
  return { product, articleBody: articleBodyOf(graph), passages: () => readState(tree, names) };
}

function articleBodyOf({ items }: LdGraph): string {
  const own = items.filter(({ role, object }) => role === '' && typeof object['articleBody'] === 'string');
  return own.length === 1 && isObject(own[0]?.object) ? richText(own[0].object['articleBody']) : '';
}

/**
 * HTML of what the embedded content adds to a page's markdown, '' when that is nothing. A text is added when the markdown
 * lacks most of it; nothing is added twice.
 */
export function lackingContent(embedded: EmbeddedContent, markdown: string): string {
  const { product, articleBody } = embedded;
  const isThin = markdown.length < THIN_CHARS;
  if (product === null && articleBody === '' && !isThin) return '';
  const section = new Section(markdown);
  if (product !== null) {
    addProduct(section, product, embedded, isThin);
    if (!isThin && section.chars < markdown.length * MIN_ADDED_PART) return '';
    section.addList(product.facts);
  } else if (isThin) addPassages(section, embedded.passages());
  if (plainText(articleBody).length * MAX_SHOWN_PART > markdown.length) section.addText(articleBody);
  return section.html();
}

function addProduct(section: Section, product: EmbeddedProduct, embedded: EmbeddedContent, isThin: boolean): void {
  const isLacking = section.addText(product.description);
  if (isLacking || isThin) addPassages(section, embedded.passages());
  section.addList(product.specifications);
  if (!isThin) return;
  for (const { author, text } of product.reviews) {
    section.addText(
      `<blockquote><p>${escapeAngles(text)}${author === '' ? '' : ` – ${escapeAngles(author)}`}</p></blockquote>`,
    );
  }
}

function addPassages(section: Section, passages: readonly Passage[]): void {
  for (const { title, text } of passages) {
    section.addText(text, title === '' ? '' : `<p><strong>${escapeAngles(title)}</strong></p>`);
  }
}

/** Holds the phrases that neither the page nor the section itself had. */
class Section {
  private readonly parts: string[] = [];
  private readonly known = new Phrases();
  /** Length of what was added, without markup. */
  chars = 0;

  constructor(markdown: string) {
    this.known.add(markdown);
  }

  html(): string {
    return this.parts.join('');
  }

  /** Adds a text under its heading if most of it is new; says whether it did. */
  addText(html: string, heading = ''): boolean {
    const text = plainText(html);
    if (this.known.newShare(text) < MIN_NEW_SHARE) return false;
    this.known.add(text);
    this.chars += text.length;
    this.parts.push(heading, html);
    return true;
  }

  addList(entries: readonly (readonly [string, string])[]): void {
    const fresh = entries.filter(([, value]) => this.known.newShare(value) >= MIN_NEW_SHARE);
    if (fresh.length === 0) return;
    for (const [label, value] of fresh) {
      this.known.add(value);
      this.chars += label.length + value.length;
    }
    const items = fresh.map(([label, value]) => `<li>${escapeAngles(label)}: ${escapeAngles(value)}</li>`);
    this.parts.push('<ul>', ...items, '</ul>');
  }
}
