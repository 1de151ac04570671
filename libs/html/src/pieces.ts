/** Small pieces of HTML. Text from a file passes `escapeHtml`. */

const SPECIAL = /[&<>"]/g;
const REFERENCES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
/** Control characters that mean nothing in a document. */
const CONTROLS = /[\x00-\x08\x0b\x0c\x0e-\x1f]/g;

export function escapeHtml(text: string): string {
  return text.replace(CONTROLS, '').replace(SPECIAL, (char) => REFERENCES[char]!);
}

/** Puts a tag around a text that is not blank; a blank one stays alone. */
export function wrap(tag: string, html: string): string {
  return html.trim() === '' ? html : `<${tag}>${html}</${tag}>`;
}

/** A link where the target leads to a place that readers of the page can reach. */
export function link(target: string | undefined, html: string): string {
  const href = target?.trim() ?? '';
  return isReachable(href) ? `<a href="${escapeHtml(href)}">${html}</a>` : html;
}

function isReachable(href: string): boolean {
  if (href === '' || href.includes('\\')) return false;
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(href)?.[1]?.toLowerCase();
  return scheme === undefined || scheme === 'http' || scheme === 'https' || scheme === 'mailto' || scheme === 'tel';
}

/** Programs put it where no author has written what a picture shows. */
const FILE_NAME = /^\S{1,300}\.(?:png|jpe?g|gif|svg|bmp|tiff?|webp|emf|wmf)$/i;

/** Description of a picture, as text: the picture itself has no address. */
export function imageText(alt: string | undefined): string {
  const text = alt?.replace(/\s+/g, ' ').trim() ?? '';
  return text === '' || FILE_NAME.test(text) ? '' : `[${escapeHtml(text)}]`;
}

export interface Cell {
  html: string;
  colspan?: number;
  rowspan?: number;
}

export function tableHtml(rows: readonly (readonly Cell[])[]): string {
  const lines = rows.map((cells) => `<tr>${cells.map(cellHtml).join('')}</tr>`);
  return lines.length === 0 ? '' : `<table>${lines.join('\n')}</table>`;
}

function cellHtml({ html, colspan = 1, rowspan = 1 }: Cell): string {
  const across = colspan > 1 ? ` colspan="${colspan}"` : '';
  const down = rowspan > 1 ? ` rowspan="${rowspan}"` : '';
  return `<td${across}${down}>${html}</td>`;
}

export interface ListLine {
  /** 0 is the outermost. */
  level: number;
  isOrdered: boolean;
  html: string;
}

const MAX_LEVEL = 10;

/** Lines with levels as nested lists. */
export function listHtml(lines: readonly ListLine[]): string {
  let html = '';
  const open: string[] = [];
  for (const line of lines) {
    const depth = Math.min(line.level, MAX_LEVEL) + 1;
    const tag = line.isOrdered ? 'ol' : 'ul';
    while (open.length > depth || (open.length === depth && open.at(-1) !== tag)) html += `</li></${open.pop()}>`;
    if (open.length === depth) html += '</li>';
    while (open.length < depth) {
      html += `<${tag}>${open.length < depth - 1 ? '<li>' : ''}`;
      open.push(tag);
    }
    html += `<li>${line.html}`;
  }
  while (open.length > 0) html += `</li></${open.pop()}>`;
  return html;
}
