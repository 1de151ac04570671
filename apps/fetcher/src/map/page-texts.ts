/** The texts of a page that a map wants beside its links: title, description, announced feeds. */
import type { FetchedPage } from '../pages/page-fetcher.js';

export interface PageTexts {
  title: string | null;
  description: string | null;
  /** Absolute addresses of RSS and Atom feeds. */
  feeds: string[];
}

/** A larger page lends its links only: reading it here would hold up the process. */
const MAX_DOCUMENT_BYTES = 2 * 1024 * 1024;
const MAX_TITLE_CHARS = 500;
const MAX_DESCRIPTION_CHARS = 2000;
const FEED_LINK = /<link\b[^>]*\btype\s*=\s*["']?application\/(?:rss|atom)\+xml[^>]*>/gi;

export function readTexts(page: FetchedPage): PageTexts {
  if (page.document.byteLength > MAX_DOCUMENT_BYTES) return { title: page.title, description: null, feeds: [] };
  const { metadata, rawHtml } = JSON.parse(Buffer.from(page.document).toString('utf8')) as {
    metadata?: Record<string, unknown>;
    rawHtml?: string;
  };
  return {
    title: text(metadata?.['title'], MAX_TITLE_CHARS) ?? page.title,
    description: text(metadata?.['description'], MAX_DESCRIPTION_CHARS),
    feeds: feedsOf(rawHtml ?? '', page.finalUrl),
  };
}

function text(value: unknown, maxChars: number): string | null {
  return typeof value === 'string' && value.trim() !== '' ? value.slice(0, maxChars) : null;
}

/** Feeds that the page's head announces. */
function feedsOf(html: string, base: string): string[] {
  const tags = html.match(FEED_LINK) ?? [];
  const hrefs = tags.map((tag) => /\bhref\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))/i.exec(tag));
  return hrefs.flatMap((match) => {
    const href = match?.[1] ?? match?.[2] ?? match?.[3];
    const url = href === undefined ? null : URL.parse(href.replaceAll('&amp;', '&'), base);
    return url === null ? [] : [url.href];
  });
}
