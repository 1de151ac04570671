/** Where tags, classes, ids and other attributes stand on a page: lists in document order, made in one look at the page. */
import type { SelectorKey } from '../selector.js';
import { A, FIRST_CUSTOM_TAG, TEXT, hashName } from '../tags.js';
import type { Tree } from '../tree.js';
import { WordSet } from './word-set.js';

type Places = Map<string, number[]>;

/** A power of two, so large that few attributes share one with those that are asked for. */
const FLAGS = 512;

/** All that queries ever ask of an index: made ready once, for as many pages as they are asked of. */
export class IndexKeys {
  readonly tags: readonly string[];
  /** Names, each with its hash. */
  readonly attributes: readonly (readonly [name: string, hash: number])[];
  readonly classes: WordSet;
  readonly ids: WordSet;
  /** By the low bits of an attribute's hash: 1 when it may matter. */
  readonly attributeFlags = new Uint8Array(FLAGS);

  constructor(keys: readonly SelectorKey[]) {
    const named = (type: SelectorKey['type']): string[] => [
      ...new Set(keys.filter((key) => key.type === type).map(({ name }) => name)),
    ];
    this.tags = named('tag');
    this.attributes = named('attribute').map((name) => [name, hashName(name)]);
    this.classes = new WordSet(named('class'));
    this.ids = new WordSet(named('id'));
    for (const [, hash] of this.attributes) this.attributeFlags[hash & (FLAGS - 1)] = 1;
    if (this.classes.words.length > 0) this.attributeFlags[A.class & (FLAGS - 1)] = 1;
    if (this.ids.words.length > 0) this.attributeFlags[A.id & (FLAGS - 1)] = 1;
  }
}

export class PageIndex {
  private look: PageLook | null = null;

  constructor(
    private readonly tree: Tree,
    private readonly keys: IndexKeys,
  ) {}

  /** Elements in document order; those that have what the key says are among them. null: it is none of the index's keys. */
  at(key: SelectorKey): readonly number[] | null {
    this.look ??= new PageLook(this.tree, this.keys);
    return this.look.places[key.type].get(key.name) ?? null;
  }
}

/** Finds the places of all keys at once. */
class PageLook {
  readonly places: Record<SelectorKey['type'], Places>;
  private readonly holders = new Map<number, number[]>();
  private readonly references: References;

  constructor(
    private readonly tree: Tree,
    private readonly keys: IndexKeys,
  ) {
    const { attributes, classes, ids, tags } = keys;
    this.places = {
      tag: nowhere(tags),
      class: nowhere(classes.words),
      id: nowhere(ids.words),
      attribute: nowhere(attributes.map(([name]) => name)),
    };
    for (const [name, hash] of attributes) this.holders.set(hash, this.places.attribute.get(name)!);
    this.references = new References(tree.source);
    this.search();
  }

  private search(): void {
    const { attrHash, count, from, tag, to } = this.tree;
    const { attributeFlags } = this.keys;
    const { lists, placeOfTag } = this.byTag();
    for (let node = 1; node < count; node++) {
      const number = tag[node]!;
      if (number === TEXT) continue;
      const place = placeOfTag[number]!;
      if (place > 0) lists[place - 1]!.push(node);
      for (let i = from[node]!, end = to[node]!; i < end; i++)
        if (attributeFlags[attrHash[i]! & (FLAGS - 1)] === 1) this.noteAttribute(node, i);
    }
  }

  /** For each tag the place of its list, from 1; 0: none. */
  private byTag(): { lists: number[][]; placeOfTag: Uint16Array } {
    const { tree, places } = this;
    const lists: number[][] = [];
    const placeOfTag = new Uint16Array(FIRST_CUSTOM_TAG + tree.customTags.length);
    for (const [name, list] of places.tag) placeOfTag[tree.tagNumber(name)] = lists.push(list);
    return { lists, placeOfTag };
  }

  private noteAttribute(node: number, index: number): void {
    const hash = this.tree.attrHash[index]!;
    if (hash === A.class) this.noteWords(node, index, this.keys.classes, this.places.class);
    else if (hash === A.id) this.noteWords(node, index, this.keys.ids, this.places.id);
    if (this.holders.size === 0) return;
    const holders = this.holders.get(hash);
    if (holders !== undefined) addOnce(holders, node);
  }

  /** Under the words that the value may hold: it holds them, or longer ones that begin so. */
  private noteWords(node: number, index: number, set: WordSet, places: Places): void {
    const { attrFrom, attrTo, source } = this.tree;
    const from = attrFrom[index]!;
    const to = attrTo[index]!;
    if (to - from < set.width) return;
    // Decoded it may say anything.
    const words = this.references.isIn(from, to) ? set.words : set.in(source, from, to);
    for (const word of words) addOnce(places.get(word)!, node);
  }
}

function nowhere(names: readonly string[]): Places {
  return new Map(names.map((name) => [name, []]));
}

function addOnce(nodes: number[], node: number): void {
  if (nodes.at(-1) !== node) nodes.push(node);
}

/** Where character references may be: asked for one range after the other, the text is searched once. */
class References {
  private searchedFrom = Infinity;
  private next = -1;

  constructor(private readonly text: string) {}

  isIn(from: number, to: number): boolean {
    if (from < this.searchedFrom || from > this.next) {
      const found = this.text.indexOf('&', from);
      this.next = found < 0 ? Infinity : found;
      this.searchedFrom = from;
    }
    return this.next < to;
  }
}

/** Place of the first number in an ascending list that is not below `limit`. */
export function firstAtLeast(ascending: readonly number[], limit: number): number {
  let from = 0;
  let to = ascending.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if (ascending[middle]! >= limit) to = middle;
    else from = middle + 1;
  }
  return from;
}
