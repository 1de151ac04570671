/** Books: the chapters of the spine, in its order. Links between them lead to places of the one document. */
import { type DocumentContent, unreadable } from '@troupe/contracts';
import { escapeHtml, imageText } from '@troupe/html';
import { compact, joinPath } from './office/office-package.js';
import {
  attribute,
  childAt,
  childrenNamed,
  decodeXml,
  elementsOf,
  parseXml,
  textOf,
  type XmlElement,
  type XmlNode,
} from './xml.js';
import type { ZipArchive } from './zip-archive.js';

const CHAPTER_TYPES = new Set(['application/xhtml+xml', 'text/html', 'application/x-dtbook+xml']);
const DROPPED = new Set(['script', 'style', 'head', 'template', 'noscript']);
const EMPTY = new Set(['br', 'hr', 'wbr', 'col']);
const KEPT_ATTRIBUTES = new Set(['id', 'colspan', 'rowspan', 'class', 'start', 'title']);

export function readEpub(archive: ZipArchive): DocumentContent {
  const read = (name: string): XmlElement | null => {
    const bytes = archive.read(name);
    return bytes === null ? null : parseXml(decodeXml(bytes));
  };
  const main = attribute(childAt(read('META-INF/container.xml'), 'rootfiles', 'rootfile'), 'full-path') ?? '';
  const book = read(main);
  if (book === null) throw unreadable('The book has no table of its parts');
  const paths = chapterPaths(book, main.slice(0, main.lastIndexOf('/') + 1));
  const members = archive.readAll(paths);
  const chapters = paths.flatMap((path) => (members.has(path) ? [{ path, text: decodeXml(members.get(path)!) }] : []));
  const places = new Map(chapters.map(({ path }, index) => [path, index + 1]));
  const parts = chapters.map(({ path, text }) => chapterHtml(text, { path, places }));
  return { parts: parts.filter((html) => html.trim() !== ''), ...properties(book), pages: null, warning: null };
}

function chapterPaths(book: XmlElement, folder: string): string[] {
  const items = new Map(
    childrenNamed(childAt(book, 'manifest'), 'item').map((item) => [attribute(item, 'id') ?? '', item]),
  );
  const paths = childrenNamed(childAt(book, 'spine'), 'itemref')
    .map((reference) => items.get(attribute(reference, 'idref') ?? ''))
    .filter((item) => item !== undefined && CHAPTER_TYPES.has(attribute(item, 'media-type') ?? ''))
    .filter((item) => !/\bnav\b/.test(attribute(item!, 'properties') ?? ''))
    .map((item) => joinPath(folder, decodePath(attribute(item!, 'href') ?? '')));
  return [...new Set(paths)];
}

function decodePath(href: string): string {
  try {
    return decodeURIComponent(href.replace(/#.*$/s, ''));
  } catch {
    return href;
  }
}

function properties(book: XmlElement): Pick<DocumentContent, 'title' | 'metadata'> {
  const meta = childAt(book, 'metadata');
  const all = (name: string): string[] =>
    childrenNamed(meta, name)
      .map((one) => textOf(one).trim())
      .filter((text) => text !== '');
  const metadata = compact({
    author: all('creator').join(', '),
    description:
      all('description')[0]
        ?.replace(/<[^>]{0,1000}>/g, ' ')
        .replace(/\s+/g, ' ')
        .trim() ?? '',
    language: all('language')[0] ?? '',
    dcSubject: all('subject').join(', '),
    dcDate: all('date')[0] ?? '',
    publishedTime: all('date')[0] ?? '',
  });
  return { title: all('title')[0] ?? null, metadata };
}

interface Chapter {
  path: string;
  /** Number of each chapter by its path. */
  places: ReadonlyMap<string, number>;
}

/** Writes XHTML anew as HTML, where an element that closes itself would stay open. */
function chapterHtml(text: string, chapter: Chapter): string {
  let root: XmlElement;
  try {
    root = parseXml(text);
  } catch {
    return /<body[^>]{0,1000}>(.*?)(?:<\/body\s{0,10}>|$)/is.exec(text)?.[1] ?? text;
  }
  const body = childAt(root, 'body') ?? root;
  const html = new ChapterWriter(chapter).children(body);
  return html.trim() === '' ? '' : `<section id="part-${chapter.places.get(chapter.path) ?? 0}">${html}</section>`;
}

class ChapterWriter {
  constructor(private readonly chapter: Chapter) {}

  children(element: XmlElement): string {
    return element.children.map((child) => this.node(child)).join('');
  }

  private node(node: XmlNode): string {
    if (typeof node === 'string') return escapeHtml(node);
    const name = node.name.toLowerCase();
    if (DROPPED.has(name)) return '';
    if (name === 'img') return imageText(attribute(node, 'alt'));
    if (name === 'svg') return imageText(textOf(elementsOf(node).find((child) => child.name === 'title') ?? null));
    if (EMPTY.has(name)) return `<${name}>`;
    return `<${name}${this.attributes(node, name)}>${this.children(node)}</${name}>`;
  }

  private attributes(node: XmlElement, name: string): string {
    let html = '';
    for (const [key, value] of Object.entries(node.attributes)) {
      if (key === 'href' && name === 'a') html += this.target(value);
      else if (key === 'id') html += ` id="${escapeHtml(this.place(this.chapter.path, value))}"`;
      else if (KEPT_ATTRIBUTES.has(key)) html += ` ${key}="${escapeHtml(value)}"`;
    }
    return html;
  }

  private target(href: string): string {
    if (/^(https?|mailto):/i.test(href)) return ` href="${escapeHtml(href)}"`;
    const [file = '', fragment = ''] = href.split('#', 2);
    const { path, places } = this.chapter;
    const target = file === '' ? path : joinPath(path.slice(0, path.lastIndexOf('/') + 1), decodePath(file));
    return places.has(target) ? ` href="#${escapeHtml(this.place(target, fragment))}"` : '';
  }

  private place(path: string, fragment: string): string {
    const part = `part-${this.chapter.places.get(path) ?? 0}`;
    return fragment === '' ? part : `${part}-${fragment}`;
  }
}
