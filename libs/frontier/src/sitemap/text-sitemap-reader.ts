import { MAX_LOC_CHARS, type SitemapItem, type SitemapSyntax } from './sitemap-syntax.js';

/** One absolute http(s) URL a line; other lines are passed over. */
export class TextSitemapReader implements SitemapSyntax {
  readonly broken = false;
  private rest = '';

  constructor(private readonly report: (item: SitemapItem) => void) {}

  write(text: string): void {
    const lines = (this.rest + text).split(/[\r\n]+/);
    const last = lines.pop() ?? '';
    for (const line of lines) this.readLine(line);
    // One character too many is enough to know that the line will be refused.
    this.rest = last.slice(0, MAX_LOC_CHARS + 1);
  }

  end(): void {
    this.readLine(this.rest);
    this.rest = '';
  }

  private readLine(line: string): void {
    const loc = line.trim();
    if (/^https?:\/\/\S+$/i.test(loc)) this.report({ type: 'url', loc });
  }
}
