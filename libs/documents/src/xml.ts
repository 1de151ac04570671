/**
 * XML of office files, bounded in depth and size. Names lose their prefix (`w:p` -> `p`), attributes keep theirs.
 * Entities that a document declares are not expanded: a file that needs them is damaged.
 */
import { decodeHTML } from 'entities';
import { SaxesParser } from 'saxes';
import { unreadable } from '@troupe/contracts';

export interface XmlElement {
  name: string;
  attributes: Record<string, string>;
  children: XmlNode[];
}
export type XmlNode = XmlElement | string;

const MAX_DEPTH = 400;
const MAX_NODES = 2_000_000;
const CHUNK_CHARS = 64 * 1024;
const DECLARED_BYTES = 200;
const ENCODING = /^\s*<\?xml[^>]{0,150}encoding\s*=\s*["']([\w.:-]{1,40})["']/;
/** References that XML alone does not know. */
const NAMED_REFERENCE = /&(?!(?:amp|lt|gt|quot|apos);)[a-z][a-z0-9]{1,30};/gi;

export interface XmlEvents {
  open(name: string, attributes: Record<string, string>): void;
  close(name: string): void;
  text(text: string): void;
  /** Asked now and then: true ends the reading. */
  isOver?(): boolean;
}

export function decodeXml(bytes: Uint8Array): string {
  const declared = ENCODING.exec(Buffer.from(bytes.subarray(0, DECLARED_BYTES)).toString('latin1'))?.[1];
  const label = bytes[0] === 0xff && bytes[1] === 0xfe ? 'utf-16le' : bytes[0] === 0xfe ? 'utf-16be' : declared;
  return decoderFor(label).decode(bytes);
}

function decoderFor(label: string | undefined): InstanceType<typeof TextDecoder> {
  try {
    return new TextDecoder(label === undefined || /^utf-?16$/i.test(label) ? 'utf-8' : label);
  } catch {
    return new TextDecoder();
  }
}

/** Tells of each element and text, in order. @throws Error when it is not well-formed */
export function streamXml(text: string, events: XmlEvents): void {
  const parser = new SaxesParser<{ xmlns: false; position: false }>({ xmlns: false, position: false });
  let depth = 0;
  parser.on('error', (error) => {
    throw error;
  });
  parser.on('opentag', ({ name, attributes }) => {
    if (++depth > MAX_DEPTH) throw unreadable(`The document is nested deeper than ${MAX_DEPTH} levels`);
    events.open(localName(name), attributes);
  });
  parser.on('closetag', ({ name }) => {
    depth--;
    events.close(localName(name));
  });
  parser.on('text', (piece) => events.text(piece));
  parser.on('cdata', (piece) => events.text(piece));
  for (let at = 0; at < text.length; at += CHUNK_CHARS) {
    parser.write(text.slice(at, at + CHUNK_CHARS));
    if (events.isOver?.() === true) return;
  }
  parser.close();
}

/** The document's element. @throws Error when it is not well-formed */
export function parseXml(text: string): XmlElement {
  const root: XmlElement = { name: '', attributes: {}, children: [] };
  const open = [root];
  let nodes = 0;
  const add = (node: XmlNode): void => {
    if (++nodes > MAX_NODES) throw unreadable('The document has too many parts to be read');
    open.at(-1)!.children.push(node);
  };
  streamXml(text.replace(NAMED_REFERENCE, knownReference), {
    open: (name, attributes) => {
      const element = { name, attributes, children: [] };
      add(element);
      open.push(element);
    },
    close: () => void open.pop(),
    text: add,
  });
  const [first] = elementsOf(root);
  if (first === undefined) throw new Error('it has no element');
  return first;
}

/** Others than HTML's stay, and make the document damaged. */
function knownReference(reference: string): string {
  const text = decodeHTML(reference);
  return text === reference ? reference : [...text].map((char) => `&#${char.codePointAt(0)};`).join('');
}

export function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

export function elementsOf(element: XmlElement | null): XmlElement[] {
  return element === null ? [] : element.children.filter((child) => typeof child !== 'string');
}

export function childrenNamed(element: XmlElement | null, name: string): XmlElement[] {
  return elementsOf(element).filter((child) => child.name === name);
}

/** Along the names; null when one is missing. */
export function childAt(element: XmlElement | null, ...path: string[]): XmlElement | null {
  let at = element;
  for (const name of path) at = childrenNamed(at, name)[0] ?? null;
  return at;
}

/** All below with the name, in document order, but none inside another. */
export function descendantsNamed(element: XmlElement | null, name: string): XmlElement[] {
  return elementsOf(element).flatMap((child) => (child.name === name ? [child] : descendantsNamed(child, name)));
}

export function textOf(node: XmlNode | null): string {
  if (node === null) return '';
  return typeof node === 'string' ? node : node.children.map(textOf).join('');
}

/** By its name without prefix, when it has one. */
export function attribute(element: XmlElement | null, name: string): string | undefined {
  if (element === null) return undefined;
  const exact = element.attributes[name];
  if (exact !== undefined) return exact;
  const suffix = `:${name}`;
  return Object.entries(element.attributes).find(([key]) => key.endsWith(suffix))?.[1];
}
