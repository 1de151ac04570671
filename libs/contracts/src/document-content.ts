/** The answer of the readers of all kinds of documents: parts of HTML, which become formats as any page does. */
export interface DocumentContent {
  /** HTML of each part, in reading order: pages of a PDF, sheets, slides, chapters; one for files without parts. */
  parts: string[];
  title: string | null;
  /** More metadata, under the keys of docs/api/formats.md, "Metadata keys", where there is one. */
  metadata: Record<string, string>;
  /** For documents with pages: how many were read, and how many there are. */
  pages: { read: number; total: number } | null;
  /** Names what was left out and why; null: nothing. */
  warning: string | null;
}
