/** RSS and Atom as a list of entries: title with link, date and author, and the text of each. */
import type { DocumentContent } from '@troupe/contracts';
import { escapeHtml, link } from '@troupe/html';
import { compact } from './office/office-package.js';
import { attribute, childrenNamed, childAt, elementsOf, parseXml, textOf, type XmlElement } from './xml.js';

const MAX_ENTRIES = 2000;

/** null when it is not well-formed. */
export function readFeed(text: string): DocumentContent | null {
  let root: XmlElement;
  try {
    root = parseXml(text);
  } catch {
    return null;
  }
  const channel = childAt(root, 'channel') ?? root;
  const entries = [root, channel].flatMap((one) => [...childrenNamed(one, 'item'), ...childrenNamed(one, 'entry')]);
  const unique = [...new Set(entries)];
  const title = plain(childAt(channel, 'title'));
  const about = plain(childAt(channel, 'description') ?? childAt(channel, 'subtitle'));
  const head = `<h1>${title === '' ? 'Feed' : link(addressOf(channel), escapeHtml(title))}</h1>${about === '' ? '' : `<p>${escapeHtml(about)}</p>`}`;
  const metadata = compact({
    author: plain(childAt(channel, 'author') ?? childAt(channel, 'managingEditor')),
    description: about,
    language: plain(childAt(channel, 'language')) || (attribute(root, 'lang') ?? ''),
    modifiedTime: plain(
      childAt(channel, 'lastBuildDate') ?? childAt(channel, 'updated') ?? childAt(channel, 'pubDate'),
    ),
  });
  const warning = unique.length > MAX_ENTRIES ? `Entries beyond ${MAX_ENTRIES} were left out.` : null;
  const parts = [head + unique.slice(0, MAX_ENTRIES).map(entryHtml).join('\n')];
  return { parts, title: title === '' ? null : title, metadata, pages: null, warning };
}

function entryHtml(entry: XmlElement): string {
  const address = addressOf(entry);
  const title = plain(childAt(entry, 'title')) || (address ?? 'Untitled');
  const date = plain(firstOf(entry, ['pubDate', 'published', 'date', 'updated']));
  const author = plain(childAt(entry, 'author', 'name') ?? firstOf(entry, ['creator', 'author']));
  const byline = [date, author].filter((text) => text !== '').map(escapeHtml);
  const body = bodyHtml(entry);
  return [
    `<h2>${link(address, escapeHtml(title))}</h2>`,
    byline.length === 0 ? '' : `<p><em>${byline.join(', ')}</em></p>`,
    body === '' ? '' : `<div>${body}</div>`,
  ].join('\n');
}

function firstOf(entry: XmlElement, names: string[]): XmlElement | null {
  for (const name of names) {
    const found = childAt(entry, name);
    if (found !== null) return found;
  }
  return null;
}

/** The longest of what an entry carries; texts of feeds are HTML in disguise. */
function bodyHtml(entry: XmlElement): string {
  const bodies = elementsOf(entry).filter(({ name }) => /^(description|summary|content|encoded)$/.test(name));
  return bodies.map(asHtml).reduce((longest, html) => (html.length > longest.length ? html : longest), '');
}

function asHtml(element: XmlElement): string {
  const type = attribute(element, 'type') ?? '';
  if (type === 'xhtml' || elementsOf(element).length > 0) return elementsOf(element).map(xhtml).join('');
  const text = textOf(element).trim();
  return type === 'text' ? escapeHtml(text) : text;
}

function xhtml(element: XmlElement): string {
  const inside = element.children
    .map((child) => (typeof child === 'string' ? escapeHtml(child) : xhtml(child)))
    .join('');
  const href = element.name === 'a' ? attribute(element, 'href') : undefined;
  if (element.name === 'a') return link(href, inside);
  if (/^(script|style|iframe|img)$/.test(element.name)) return '';
  return element.name === 'br' ? '<br>' : `<${element.name}>${inside}</${element.name}>`;
}

/** A text of RSS may hold markup: only the words of a title count. */
function plain(element: XmlElement | null): string {
  return textOf(element)
    .replace(/<[^>]{0,1000}>/g, '')
    .replace(/\s+/g, ' ')
    .trim();
}

function addressOf(element: XmlElement): string | undefined {
  const links = childrenNamed(element, 'link');
  const alternate = links.find((one) => (attribute(one, 'rel') ?? 'alternate') === 'alternate') ?? links[0];
  const text = plain(links.find((one) => textOf(one).trim() !== '') ?? null);
  const guid = childAt(element, 'guid');
  const permanent = guid !== null && attribute(guid, 'isPermaLink') !== 'false' ? plain(guid) : '';
  return (attribute(alternate ?? null, 'href') ?? (text || permanent)) || undefined;
}
