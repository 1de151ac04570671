/** Where tags, classes, ids and other attributes stand on a page: lists in document order, made in one look at the page. */
import { A, FIRST_CUSTOM_TAG, hashName, lookupTag, type SelectorKey, TEXT, type Tree } from '@troupe/html';
import { WordSet } from './word-set.js';

/** A power of two, so large that few attributes share one with those that are asked for. */
const FLAGS = 512;
const MAY = { name: 1, class: 2, id: 4 };
const TYPES = ['tag', 'class', 'id', 'attribute'] as const satisfies readonly SelectorKey['type'][];

/** All that queries may ask of an index, made ready once for many pages. Each key has a number. */
export class IndexKeys {
  readonly count: number;
  /** For each known tag the number of its key and 1 more; 0: it is none. */
  readonly keyOfTag = new Uint16Array(FIRST_CUSTOM_TAG);
  /** Tags that HTML does not know, each with the number of its key and 1 more. */
  readonly customTags: readonly (readonly [name: string, key: number])[];
  readonly classes: WordSet;
  readonly ids: WordSet;
  /** Numbers of the first class and of the first id: the others follow, as in their sets. */
  readonly firstClass: number;
  readonly firstId: number;
  /** By the low bits of an attribute's hash: what it may be, 0 when it does not matter. */
  readonly attributeFlags = new Uint8Array(FLAGS);
  private readonly keyOfAttribute = new Map<number, number>();
  private readonly numbers: Record<SelectorKey['type'], ReadonlyMap<string, number>>;

  constructor(keys: readonly SelectorKey[]) {
    let count = 0;
    const numbered = (type: SelectorKey['type']): ReadonlyMap<string, number> => {
      const names = new Set(keys.filter((key) => key.type === type).map(({ name }) => name));
      return new Map([...names].map((name) => [name, count++]));
    };
    const [tags, classes, ids, attributes] = TYPES.map(numbered) as [Names, Names, Names, Names];
    this.numbers = { tag: tags, class: classes, id: ids, attribute: attributes };
    this.count = count;
    this.customTags = [...tags].flatMap(([name, key]) => {
      const number = lookupTag(name, 0, name.length);
      if (number <= 0) return [[name, key + 1] as const];
      this.keyOfTag[number] = key + 1;
      return [];
    });
    this.classes = new WordSet([...classes.keys()]);
    this.ids = new WordSet([...ids.keys()]);
    this.firstClass = tags.size;
    this.firstId = tags.size + classes.size;
    for (const [name, key] of attributes) {
      this.keyOfAttribute.set(hashName(name), key);
      this.flag(hashName(name), MAY.name);
    }
    if (classes.size > 0) this.flag(A.class, MAY.class);
    if (ids.size > 0) this.flag(A.id, MAY.id);
  }

  /** undefined: it is none of the keys. */
  numberOf({ type, name }: SelectorKey): number | undefined {
    return this.numbers[type].get(name);
  }

  /** Number of the key that asks for an attribute by its name; undefined: none does. */
  numberOfAttribute(hash: number): number | undefined {
    return this.keyOfAttribute.get(hash);
  }

  private flag(hash: number, bit: number): void {
    this.attributeFlags[hash & (FLAGS - 1)]! |= bit;
  }
}

type Names = ReadonlyMap<string, number>;

export class PageIndex {
  private places: readonly number[][] | null = null;

  constructor(
    private readonly tree: Tree,
    private readonly keys: IndexKeys,
  ) {}

  /** Elements in document order; those with the key's mark are among them. null: it is none of the index's keys. */
  at(key: SelectorKey): readonly number[] | null {
    const number = this.keys.numberOf(key);
    if (number === undefined) return null;
    this.places ??= new PageLook(this.tree, this.keys).places;
    return this.places[number]!;
  }
}

/**
 * Finds the places of all keys at once: first the attributes, one after the other as they lie, then the elements. Most have
 * attributes, few have one that matters, and to look at them element by element takes three times as long.
 */
class PageLook {
  /** By the number of the key. */
  readonly places: number[][] = [];
  private readonly references: References;
  /** Attributes that matter, ascending, and beside each the number of the key that elements with it belong to. */
  private readonly notedAt: number[] = [];
  private readonly noted: number[] = [];

  constructor(
    private readonly tree: Tree,
    private readonly keys: IndexKeys,
  ) {
    for (let key = 0; key < keys.count; key++) this.places.push([]);
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
    const { noted, notedAt, places } = this;
    const keyOfTag = this.keysOfTags();
    /** The next noted attribute, and the end of the attributes that were passed. */
    let next = 0;
    let nextAt = notedAt[0] ?? Infinity;
    let passed = 0;
    for (let node = 1; node < count; node++) {
      const number = tag[node]!;
      if (number === TEXT) continue;
      const key = number < keyOfTag.length ? keyOfTag[number]! : 0;
      if (key > 0) places[key - 1]!.push(node);
      const begin = from[node]!;
      const end = to[node]!;
      if (nextAt < end || begin < passed) {
        // Elements that a parser has moved or made twice do not come in the order of their attributes.
        if (begin < passed) next = firstAtLeast(notedAt, begin);
        for (; (nextAt = notedAt[next] ?? Infinity) < end; next++)
          if (nextAt >= begin) addOnce(places[noted[next]!]!, node);
      }
      passed = end;
    }
  }

  /** As `IndexKeys.keyOfTag`, with the tags that this page alone knows. */
  private keysOfTags(): Uint16Array {
    const { customTags, keyOfTag } = this.keys;
    if (customTags.length === 0) return keyOfTag;
    const all = new Uint16Array(FIRST_CUSTOM_TAG + this.tree.customTags.length);
    all.set(keyOfTag);
    for (const [name, key] of customTags) all[this.tree.tagNumber(name)] = key;
    return all;
  }

  private noteAttribute(index: number, flags: number): void {
    const { keys } = this;
    const hash = this.tree.attrHash[index]!;
    if ((flags & MAY.class) !== 0 && hash === A.class) this.noteWords(index, keys.classes, keys.firstClass);
    else if ((flags & MAY.id) !== 0 && hash === A.id) this.noteWords(index, keys.ids, keys.firstId);
    if ((flags & MAY.name) === 0) return;
    const key = keys.numberOfAttribute(hash);
    if (key !== undefined) this.note(index, key);
  }

  /** Under the words that the value may hold: it holds them, or longer ones that begin so. */
  private noteWords(index: number, set: WordSet, firstKey: number): void {
    const { attrFrom, attrTo, source } = this.tree;
    const from = attrFrom[index]!;
    const to = attrTo[index]!;
    if (to - from < set.width) return;
    // Decoded the value may say anything.
    const words = this.references.isIn(from, to) ? set.all : set.in(source, from, to);
    for (const word of words) this.note(index, firstKey + word);
  }

  private note(index: number, key: number): void {
    this.notedAt.push(index);
    this.noted.push(key);
  }
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
