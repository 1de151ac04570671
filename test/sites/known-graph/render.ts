/** From descriptions to bytes on the wire. */
import { gzipSync } from 'node:zlib';
import {
  textOf,
  type BusyPage,
  type Link,
  type Page,
  type Resource,
  type Robots,
  type Sitemap,
  type Thing,
} from './resource.js';

export interface Rendered {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
  delayMs: number;
}

const HTML = 'text/html; charset=utf-8';
const FILLER =
  'A known site is a small place where every page, every link and every trap has been put by hand, so that whoever walks it can be told afterwards exactly what should have been found.';

/** `asked` counts the requests for this resource before this one. */
export function render(path: string, resource: Resource | undefined, asked: number): Rendered {
  switch (resource?.type) {
    case undefined:
      return answer(404, HTML, html(path, `<h1>Not found</h1><p>Nothing lies at ${escape(path)}.</p>`));
    case 'page':
      return renderPage(path, resource);
    case 'redirect':
      return answer(resource.status, 'text/plain', 'moved', { location: resource.to });
    case 'error':
      return answer(
        resource.status,
        HTML,
        html(path, `<h1>Error</h1><p>${textOf(path)}</p>${anchors(resource.links)}`),
      );
    case 'busy':
      return renderBusy(path, resource, asked);
    case 'file':
      return answer(200, resource.contentType, resource.body);
    case 'robots':
      return answer(200, 'text/plain', robotsText(resource));
    case 'sitemap':
      return renderSitemap(resource);
  }
}

function answer(
  status: number,
  contentType: string,
  body: string | Buffer,
  more: Record<string, string> = {},
): Rendered {
  return { status, headers: { 'content-type': contentType, ...more }, body: Buffer.from(body as string), delayMs: 0 };
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

function html(title: string, body: string, head = ''): string {
  return `<!doctype html><html lang="en"><head><title>${escape(title)}</title>${head}</head><body>${body}</body></html>`;
}

function anchors(links: readonly Link[]): string {
  const items = links.map((link, i) => {
    const { href, rel } = typeof link === 'string' ? { href: link, rel: '' } : link;
    return `<li><a href="${escape(href)}"${rel === '' ? '' : ` rel="${rel}"`}>Link ${i + 1}</a></li>`;
  });
  return `<ul>${items.join('')}</ul>`;
}

function renderPage(path: string, resource: Page): Rendered {
  const { foreign, robotsTag, delayMs = 0 } = resource;
  const source = resource.isScripted === true ? scriptedSource(path, resource) : pageSource(path, resource);
  const body = foreign === undefined ? Buffer.from(source) : splice(source, foreign.bytes);
  const headers: Record<string, string> = { 'content-type': foreign?.contentType ?? HTML };
  if (robotsTag !== undefined) headers['x-robots-tag'] = robotsTag;
  return { status: 200, headers, body, delayMs };
}

const FOREIGN_PLACE = '[[foreign]]';

/** UTF-16 needs the whole page in its encoding; the others only differ in the foreign words. */
function splice(source: string, bytes: Buffer): Buffer {
  const [before = '', after = ''] = source.split(FOREIGN_PLACE);
  const isWide = bytes[0] === 0xff && bytes[1] === 0xfe;
  if (!isWide) return Buffer.concat([Buffer.from(before), bytes, Buffer.from(after)]);
  return Buffer.concat([
    bytes.subarray(0, 2),
    Buffer.from(before, 'utf16le'),
    bytes.subarray(2),
    Buffer.from(after, 'utf16le'),
  ]);
}

function headOf({ robotsMeta, refresh, base, foreign }: Page): string {
  const head: string[] = [foreign?.meta ?? ''];
  if (base !== undefined) head.push(`<base href="${escape(base)}">`);
  if (robotsMeta !== undefined) head.push(`<meta name="robots" content="${escape(robotsMeta)}">`);
  if (refresh !== undefined)
    head.push(`<meta http-equiv="refresh" content="${refresh.seconds}; url=${escape(refresh.to)}">`);
  return head.join('');
}

function bodyOf(path: string, resource: Page): string {
  const paragraphs = `<p>${FILLER}</p>`.repeat(resource.paragraphs ?? 1);
  const foreign = resource.foreign === undefined ? '' : `<p>${FOREIGN_PLACE}</p>`;
  const shown = `<p>${textOf(path)}</p>${foreign}${tableOf(resource.things ?? [])}${paragraphs}`;
  return `<main><h1>Page ${escape(path)}</h1>${shown}${anchors(resource.links)}</main>`;
}

function tableOf(things: readonly Thing[]): string {
  if (things.length === 0) return '';
  const rows = things.map(({ name, sku, price }) => `<tr><td>${name}</td><td>${sku}</td><td>${price}</td></tr>`);
  return `<table><thead><tr><th>Name</th><th>SKU</th><th>Price</th></tr></thead><tbody>${rows.join('')}</tbody></table>`;
}

function pageSource(path: string, resource: Page): string {
  return html(path, bodyOf(path, resource), headOf(resource));
}

function scriptedSource(path: string, resource: Page): string {
  const content = JSON.stringify(bodyOf(path, resource)).replaceAll('<', '\\u003c');
  const script = `<script>document.getElementById('root').innerHTML = ${content};</script>`;
  return html(path, `<div id="root"></div>${script}`, headOf(resource));
}

function renderBusy(path: string, resource: BusyPage, asked: number): Rendered {
  if (asked >= resource.times) return renderPage(path, resource.page);
  const retry: Record<string, string> =
    resource.retryAfterS === undefined ? {} : { 'retry-after': String(resource.retryAfterS) };
  return answer(resource.status, HTML, html(path, `<h1>Busy</h1><p>${textOf(path)}</p>`), retry);
}

function robotsText({ groups, sitemaps = [] }: Robots): string {
  const blocks = groups.map(({ agent, allow = [], disallow = [], crawlDelayS }) =>
    [
      `User-agent: ${agent}`,
      ...allow.map((path) => `Allow: ${path}`),
      ...disallow.map((path) => `Disallow: ${path}`),
      ...(crawlDelayS === undefined ? [] : [`Crawl-delay: ${crawlDelayS}`]),
    ].join('\n'),
  );
  return [...blocks, ...sitemaps.map((url) => `Sitemap: ${url}`)].join('\n\n') + '\n';
}

function renderSitemap(sitemap: Sitemap): Rendered {
  if (sitemap.damage === 'noise') {
    // The magic bytes of gzip and nothing that follows from them.
    return answer(200, 'application/gzip', Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6, 7, 8]));
  }
  if (sitemap.form === 'text') return answer(200, 'text/plain', (sitemap.urls ?? []).join('\n'));
  const xml = sitemapXml(sitemap);
  return sitemap.form === 'gzip' ? answer(200, 'application/gzip', gzipSync(xml)) : answer(200, 'application/xml', xml);
}

function sitemapXml({ urls = [], files, damage }: Sitemap): string {
  const [root, element] = files === undefined ? ['urlset', 'url'] : ['sitemapindex', 'sitemap'];
  const entries = (files ?? urls).map((loc) => `<${element}><loc>${escape(loc)}</loc></${element}>`);
  const end = damage === 'cut' ? `<${element}><loc>http://cut.invalid/cu` : `</${root}>`;
  return `<?xml version="1.0"?><${root} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${entries.join('')}${end}`;
}
