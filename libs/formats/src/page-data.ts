/** An object in the words of schema.org, whatever notation the page has for it. */
export interface DataItem {
  /** Lower case, without the vocabulary. */
  readonly types: readonly string[];
  /** Property that holds the item, lower case; '' for one that stands alone. */
  readonly role: string;
  /** By property; items inside it are objects with their `@type`. */
  readonly object: Readonly<Record<string, unknown>>;
}

/** Data that a page carries, bounded in size and count. Each part is read when it is asked for. */
export interface PageData {
  /** URL of the page, absolute. */
  readonly url: string;
  /** null: it has none. */
  readonly title: string | null;
  jsonLd(): readonly DataItem[];
  /** JSON-LD object that another one refers to by `{"@id": id}`. */
  byId(id: string): DataItem['object'] | undefined;
  microdata(): readonly DataItem[];
  rdfa(): readonly DataItem[];
  /** State that applications left in scripts: JSON, parsed. */
  states(): readonly unknown[];
  /** Values that were pushed to a `dataLayer`. */
  dataLayer(): readonly unknown[];
  /** Contents of metas by lower-case name or property. */
  metas(): ReadonlyMap<string, readonly string[]>;
  /** Absolute form, null when it is no address. */
  resolve(href: string): string | null;
  /** First number of a text, as the page's language writes numbers. */
  numberIn(text: string): number | null;
}
