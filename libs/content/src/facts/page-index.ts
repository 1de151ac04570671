/** Where tags, classes, ids and other attributes stand on a page: lists in document order, made in one look at the page. */
import type { SelectorKey } from '../selector.js';
import { A, FIRST_CUSTOM_TAG, TEXT, hashName, lookupTag } from '../tags.js';
import type { Tree } from '../tree.js';
import { WordSet } from './word-set.js';

type Places = Map<string, number[]>;

/** A power of two, so large that few attributes share one with those that are asked for. */
const FLAGS = 512;
const MAY = { name: 1, class: 2, id: 4 };

/** All that queries ever ask of an index: made ready once, for as many pages as they are asked of. */
export class IndexKeys {
  readonly tags: readonly string[];
  /** Of each known tag its place among `tags`, from 1; 0: none. */
  readonly placeOfTag = new Uint16Array(FIRST_CUSTOM_TAG);
  /** `tags` that HTML does not know. */
  readonly customTags: readonly string[];
  /** Names, each with its hash. */
  readonly attributes: readonly (readonly [name: string, hash: number])[];
  readonly classes: WordSet;
  readonly ids: WordSet;
  /** By the low bits of an attribute's hash: what it may be, 0 when it does not matter. */
  readonly attributeFlags = new Uint8Array(FLAGS);

  constructor(keys: readonly SelectorKey[]) {
    const named = (type: SelectorKey['type']): string[] => [
      ...new Set(keys.filter((key) => key.type === type).map(({ name }) => name)),
    ];
    this.tags = named('tag');
    const numbers = this.tags.map((name) => lookupTag(name, 0, name.length));
    numbers.forEach((number, i) => number > 0 && (this.placeOfTag[number] = i + 1));
    this.customTags = this.tags.filter((_, i) => numbers[i]! <= 0);
    this.attributes = named('attribute').map((name) => [name, hashName(name)]);
    this.classes = new WordSet(named('class'));
    this.ids = new WordSet(named('id'));
    for (const [, hash] of this.attributes) this.flag(hash, MAY.name);
    if (this.classes.words.length > 0) this.flag(A.class, MAY.class);
    if (this.ids.words.length > 0) this.flag(A.id, MAY.id);
  }

  private flag(hash: number, bit: number): void {
    this.attributeFlags[hash & (FLAGS - 1)]! |= bit;
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

/**
 * Finds the places of all keys at once: first the attributes, one after the other as they lie, then the elements. Most have
 * attributes, few have one that matters, and to look at them element by element takes three times as long.
 */
class PageLook {
  readonly places: Record<SelectorKey['type'], Places>;
  private readonly holders = new Map<number, number[]>();
  private readonly references: References;
  /** Attributes that matter, ascending, and beside each a list that elements with it belong to. */
  private readonly notedAt: number[] = [];
  private readonly noted: number[][] = [];

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
    this.readAttributes();
    this.readElements();
  }

  private readAttributes(): void {
    const { attrCount, attrHash } = this.tree;
    const { attributeFlags } = this.keys;
    for (let i = 0; i < attrCount; i++) {
      const flags = attributeFlags[attrHash[i]! & (FLAGS - 1)]!;
      if (flags !== 0) this.noteAttribute(i, flags);
    }
  }

  private readElements(): void {
    const { count, from, tag, to } = this.tree;
    const { notedAt } = this;
    const placeOfTag = this.placesOfTags();
    const lists = this.keys.tags.map((name) => this.places.tag.get(name)!);
    /** The next noted attribute, and the end of the attributes that were passed. */
    let next = 0;
    let nextAt = notedAt[0] ?? Infinity;
    let passed = 0;
    for (let node = 1; node < count; node++) {
      const number = tag[node]!;
      if (number === TEXT) continue;
      const place = number < placeOfTag.length ? placeOfTag[number]! : 0;
      if (place > 0) lists[place - 1]!.push(node);
      const begin = from[node]!;
      const end = to[node]!;
      if (nextAt < end || begin < passed) {
        // Elements that a parser has moved or made twice do not come in the order of their attributes.
        if (begin < passed) next = firstAtLeast(notedAt, begin);
        for (; (nextAt = notedAt[next] ?? Infinity) < end; next++)
          if (nextAt >= begin) addOnce(this.noted[next]!, node);
      }
      passed = end;
    }
  }

  /** As `IndexKeys.placeOfTag`, with the tags that this page alone knows. */
  private placesOfTags(): Uint16Array {
    const { customTags, placeOfTag, tags } = this.keys;
    if (customTags.length === 0) return placeOfTag;
    const places = new Uint16Array(FIRST_CUSTOM_TAG + this.tree.customTags.length);
    places.set(placeOfTag);
    for (const name of customTags) places[this.tree.tagNumber(name)] = tags.indexOf(name) + 1;
    return places;
  }

  private noteAttribute(index: number, flags: number): void {
    const { keys, places } = this;
    const hash = this.tree.attrHash[index]!;
    if ((flags & MAY.class) !== 0 && hash === A.class) this.noteWords(index, keys.classes, places.class);
    else if ((flags & MAY.id) !== 0 && hash === A.id) this.noteWords(index, keys.ids, places.id);
    if ((flags & MAY.name) === 0) return;
    const holders = this.holders.get(hash);
    if (holders !== undefined) this.note(index, holders);
  }

  /** Under the words that the value may hold: it holds them, or longer ones that begin so. */
  private noteWords(index: number, set: WordSet, places: Places): void {
    const { attrFrom, attrTo, source } = this.tree;
    const from = attrFrom[index]!;
    const to = attrTo[index]!;
    if (to - from < set.width) return;
    // Decoded it may say anything.
    const words = this.references.isIn(from, to) ? set.words : set.in(source, from, to);
    for (const word of words) this.note(index, places.get(word)!);
  }

  private note(index: number, list: number[]): void {
    this.notedAt.push(index);
    this.noted.push(list);
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
