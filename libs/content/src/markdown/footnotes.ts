/**
 * Footnotes: a short link to a place in the page that links back to it.
 *
 * Nothing but this mutual link is looked at, so any generator's notes are found and a table of contents is none.
 */
import { A, DROP, F, flagsOf, type Mask, T, TEXT, type Tree } from '@troupe/html';

export interface Footnotes {
  /** Label per link that refers to a note. */
  references: ReadonlyMap<number, string>;
  /** Label per element that is a note. */
  notes: ReadonlyMap<number, string>;
  /** Links from a note back to the text. */
  backlinks: ReadonlySet<number>;
}

const REFERENCE_TEXT = /^[[(]?\s*([\p{L}\p{N}]{1,4}|[*†‡§¶#]{1,3})\s*[\])]?$/u;
const MAX_NOTE_NODES = 2000;
const HASH = 35;

/** null when the page has none. */
export function findFootnotes(tree: Tree, mask: Mask): Footnotes | null {
  const links = fragmentLinks(tree);
  const texts = referenceTexts(tree, links);
  if (links.size < 2 || texts.size === 0) return null;
  const places = namedPlaces(tree, new Set(links.values()));
  const references = new Map<number, string>();
  const notes = new Map<number, string>();
  const backlinks = new Set<number>();
  const labels = new Set<string>();
  for (const [link, text] of texts) {
    const place = places.get(links.get(link)!);
    if (place === undefined || backlinks.has(link)) continue;
    const note = noteAround(tree, place);
    if (note < link || !isShown(tree, mask, note)) continue;
    const back = linksBack(tree, links, places, note, link);
    if (back.length === 0) continue;
    const label = notes.get(note) ?? freeLabel(text, labels);
    labels.add(label);
    notes.set(note, label);
    references.set(link, label);
    for (const one of back) backlinks.add(one);
  }
  return references.size === 0 ? null : { references, notes, backlinks };
}

/** Links to a place of the same page, with the name of the place, in document order. */
function fragmentLinks(tree: Tree): Map<number, string> {
  const links = new Map<number, string>();
  const { tag, count } = tree;
  for (let node = 1; node < count; node++) {
    if (tag[node] !== T.a) continue;
    const at = tree.attrIndex(node, A.href);
    if (at < 0 || tree.source.charCodeAt(tree.attrFrom[at]!) !== HASH) continue;
    const fragment = tree.attrValue(at).slice(1);
    if (fragment !== '') links.set(node, fragment);
  }
  return links;
}

/** Text of the links that are short enough to refer to a note, without brackets. */
function referenceTexts(tree: Tree, links: ReadonlyMap<number, string>): Map<number, string> {
  const texts = new Map<number, string>();
  for (const link of links.keys()) {
    const text = REFERENCE_TEXT.exec(tree.textContent(link).trim().slice(0, 20))?.[1];
    if (text !== undefined) texts.set(link, text);
  }
  return texts;
}

function namedPlaces(tree: Tree, wanted: ReadonlySet<string>): Map<string, number> {
  const places = new Map<string, number>();
  for (let node = 1; node < tree.count; node++) {
    if (tree.tag[node] === TEXT) continue;
    addPlace(tree, node, A.id, wanted, places);
    if (tree.tag[node] === T.a) addPlace(tree, node, A.name, wanted, places);
  }
  return places;
}

function addPlace(
  tree: Tree,
  node: number,
  attribute: number,
  wanted: ReadonlySet<string>,
  places: Map<string, number>,
): void {
  const at = tree.attrIndex(node, attribute);
  if (at < 0) return;
  const name = tree.attrValue(at);
  if (wanted.has(name) && !places.has(name)) places.set(name, node);
}

/** The block that holds a note, -1 when the place is in no such block. */
function noteAround(tree: Tree, place: number): number {
  let node = place;
  while (node > 0 && (flagsOf(tree.tag[node]!) & F.block) === 0) node = tree.parent[node]!;
  const tag = tree.tag[node];
  const isNote = tag === T.li || tag === T.p || tag === T.div || tag === T.aside;
  return isNote && tree.end[node]! - node < MAX_NOTE_NODES ? node : -1;
}

function contains(tree: Tree, outer: number, inner: number): boolean {
  return inner >= outer && inner < tree.end[outer]!;
}

/** Shown, and as a block: in a cell there are none. */
function isShown(tree: Tree, mask: Mask, node: number): boolean {
  for (let up = node; up >= 0; up = tree.parent[up]!) {
    if (mask[up] === DROP || tree.tag[up] === T.td || tree.tag[up] === T.th) return false;
  }
  return true;
}

/** Links of the note to the reference, or to an element around it or in it. */
function linksBack(
  tree: Tree,
  links: ReadonlyMap<number, string>,
  places: ReadonlyMap<string, number>,
  note: number,
  reference: number,
): number[] {
  const back: number[] = [];
  let isMutual = false;
  for (let node = note, end = tree.end[note]!; node < end; node++) {
    if (tree.tag[node] !== T.a) continue;
    const place = places.get(links.get(node) ?? '');
    if (place === undefined || contains(tree, note, place)) continue;
    back.push(node);
    if (contains(tree, reference, place)) isMutual = true;
    else if (contains(tree, place, reference) && tree.end[place]! - place < 12) isMutual = true;
  }
  return isMutual ? back : [];
}

function freeLabel(text: string, taken: ReadonlySet<string>): string {
  const wanted = /^[\p{L}\p{N}]+$/u.test(text) ? text : 'note';
  if (wanted !== 'note' && !taken.has(wanted)) return wanted;
  for (let n = taken.size + 1; ; n++) if (!taken.has(`${wanted}-${n}`)) return `${wanted}-${n}`;
}
