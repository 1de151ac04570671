/** What lies at an address of a known site. One description feeds the server (`render.ts`) and the oracle. */

export type Link = string | { href: string; rel: string };

/** What a page may list beside its text, to be extracted. */
export interface Thing {
  name: string;
  sku: string;
  price: number;
}

/** An HTML page that shows `textOf(path)` and its links. */
export interface Page {
  type: 'page';
  /** As written into the page: relative, absolute, with fragments, escaped badly … */
  links: Link[];
  /** Content of `<meta name="robots">`. */
  robotsMeta?: string;
  /** Header `X-Robots-Tag`. */
  robotsTag?: string;
  /** `<meta http-equiv="refresh">`. */
  refresh?: { seconds: number; to: string };
  /** `<base href>`. */
  base?: string;
  /** Time until the first byte. */
  delayMs?: number;
  /** Text and links are made by a script. */
  isScripted?: boolean;
  /** Words in other alphabets, in an encoding that its headers or metas tell, hide or lie about. */
  foreign?: { text: string; bytes: Buffer; contentType: string; meta?: string };
  /** Paragraphs of filler, to make a page as heavy as a real one. @default 1 */
  paragraphs?: number;
  /** In a table. @default none */
  things?: Thing[];
}

export interface Redirect {
  type: 'redirect';
  status: 301 | 302 | 303 | 307 | 308;
  to: string;
}

/** An answer of 400 or more with a readable page that links somewhere; its links must not be followed. */
export interface ErrorPage {
  type: 'error';
  status: number;
  links: Link[];
}

/** Answers 429 or 503 the first `times` times it is asked, then the page. */
export interface BusyPage {
  type: 'busy';
  status: 429 | 503;
  times: number;
  retryAfterS?: number;
  page: Page;
}

export interface FileResource {
  type: 'file';
  contentType: string;
  body: Buffer;
  /** Of an HTML file, as its bytes have them. */
  links?: string[];
}

export interface Robots {
  type: 'robots';
  groups: { agent: string; allow?: string[]; disallow?: string[]; crawlDelayS?: number }[];
  /** Absolute. */
  sitemaps?: string[];
}

/** A list of absolute URLs, or an index of other files. */
export interface Sitemap {
  type: 'sitemap';
  form: 'xml' | 'text' | 'gzip';
  urls?: string[];
  files?: string[];
  /** `cut`: ends in the middle of an entry after the listed ones. `noise`: no byte of it makes sense. */
  damage?: 'cut' | 'noise';
}

export type Resource = Page | Redirect | ErrorPage | BusyPage | FileResource | Robots | Sitemap;

/** Path and query -> what lies there. What is not listed answers 404. */
export type HostResources = Record<string, Resource>;

/** Made once the addresses are known: `origins[i]` is the origin of host i. */
export type SiteBuilder = (origins: readonly string[]) => HostResources[];

/** The words that a page shows and no other page does. */
export function textOf(path: string): string {
  return `Here is the content of ${path.replace(/[^\w/.-]/g, ' ')} and of no other page.`;
}

export function page(links: Link[] = [], more: Omit<Page, 'type' | 'links'> = {}): Page {
  return { type: 'page', links, ...more };
}

export function redirect(to: string, status: Redirect['status'] = 302): Redirect {
  return { type: 'redirect', status, to };
}
