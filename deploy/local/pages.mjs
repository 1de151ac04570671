/** Pages as files in a folder tree by host and path, or as text on standard output. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { shortHash } from './places.mjs';

const ENDINGS = { markdown: '.md', html: '.html', rawHtml: '.raw.html', links: '.links.json', json: '.json' };
const LONGEST_NAME = 120;
/** Names that Windows keeps for devices: a tree that was written here can be copied there. */
const DEVICES = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;

/** @param {string} segment */
function decode(segment) {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** One path segment as a file name that every common file system takes. @param {string} segment still percent-encoded */
export function safeName(segment) {
  const plain = decode(segment)
    .replace(/[\p{Cc}<>:"/\\|?*]/gu, '_')
    .replace(/[. ]+$/g, '_');
  const name = plain === '' || plain.startsWith('.') || DEVICES.test(plain) ? `_${plain}` : plain;
  if (Buffer.byteLength(name) <= LONGEST_NAME) return name;
  return `${Buffer.from(name)
    .subarray(0, LONGEST_NAME - 13)
    .toString('utf8')
    .replace(/\ufffd+$/, '')}-${shortHash(segment)}`;
}

/**
 * Where a page goes: `host/path/to/page.md`, `index.md` for a directory; a query becomes part of the name.
 *
 * @param {string} address
 * @param {string} ending
 */
export function placeOf(address, ending) {
  const url = new URL(address);
  const segments = url.pathname.split('/').slice(1);
  const last = segments.pop() ?? '';
  const folders = segments.filter((segment) => segment !== '').map(safeName);
  const stem = last === '' ? 'index' : safeName(last.replace(/\.x?html?$/i, ''));
  const query = url.search === '' ? '' : `-${safeName(url.search.slice(1)).slice(0, 60)}-${shortHash(url.search)}`;
  return path.join(safeName(url.host), ...folders, `${stem}${query}${ending}`);
}

export class PageWriter {
  /** Lower-case paths taken, for file systems that do not tell `A` from `a`. @type {Set<string>} */
  #taken = new Set();
  count = 0;

  /** @param {{ out: string | null, format: 'markdown' | 'html' | 'rawHtml' | 'links' | 'json', url: string | null }} options */
  constructor({ out, format, url }) {
    this.out = out;
    this.format = format;
    this.seed = url ?? '';
  }

  /** @param {any} page a document of the API */
  write(page) {
    this.count++;
    const text = this.#textOf(page);
    if (this.out === null) {
      process.stdout.write(`${text}\n`);
      return;
    }
    const address = page.metadata?.sourceURL ?? page.metadata?.url ?? this.seed;
    this.#writeFile(placeOf(address, ENDINGS[this.format]), text, address);
  }

  /** @param {string[]} lines */
  writeList(lines) {
    const text = lines.map((line) => `${line}\n`).join('');
    if (this.out === null) process.stdout.write(text);
    else this.#writeFile(path.join(safeName(new URL(this.seed).host), 'map.txt'), text, this.seed);
  }

  /** @param {any} page */
  #textOf(page) {
    if (this.format === 'json') return JSON.stringify(page, null, 2);
    const value = page[this.format];
    return typeof value === 'string' ? value : JSON.stringify(value ?? null, null, 2);
  }

  /** @param {string} place @param {string} text @param {string} address */
  #writeFile(place, text, address) {
    const ending = ENDINGS[this.format];
    let file = place;
    if (this.#taken.has(file.toLowerCase())) file = `${place.slice(0, -ending.length)}-${shortHash(address)}${ending}`;
    this.#taken.add(file.toLowerCase());
    const full = path.join(this.out ?? '.', file);
    mkdirSync(path.dirname(full), { recursive: true });
    writeFileSync(full, text.endsWith('\n') ? text : `${text}\n`);
  }
}
