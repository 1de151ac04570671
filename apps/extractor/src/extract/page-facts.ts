/** Facts of a page: the value of a `pages` step, kept for the merge. */
export interface PageFacts {
  /** Places of the job's child and of the page in it: the order in which facts stand. */
  child: number;
  item: number;
  url: string;
  /** null: the page has none of the wanted facts, or could not be read. */
  value: unknown;
  /** Changes that made the value fit, and parts of the page that were left out. */
  notes: string[];
  /** Why the page could not be read; null: it was. */
  error: string | null;
}
