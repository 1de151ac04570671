/** Formatting elements that a block has closed but their own end tag has not: they open again with the next text. */
import type { NodeStore } from './node-store.js';

const MARKER = -1;
/** Entries beyond are not opened again. Markers stand for open elements, whose number the depth of the tree bounds. */
const MAX_ENTRIES = 512;
const MAX_ALIKE = 3;

/** Shared by all pages, which are parsed one after the other. */
const ENTRIES = new Int32Array(MAX_ENTRIES * 2 + 16);

export class ActiveFormatting {
  private readonly entries = ENTRIES;
  length = 0;

  constructor(private readonly store: NodeStore) {}

  push(node: number): void {
    if (this.length >= MAX_ENTRIES) return;
    this.dropAlike(node);
    this.entries[this.length++] = node;
  }

  pushMarker(): void {
    this.entries[this.length++] = MARKER;
  }

  clearToMarker(): void {
    while (this.length > 0 && this.entries[--this.length] !== MARKER);
  }

  at(index: number): number {
    return this.entries[index]!;
  }

  isMarker(index: number): boolean {
    return this.entries[index] === MARKER;
  }

  replace(index: number, node: number): void {
    this.entries[index] = node;
  }

  /** Index of the last element with this tag since the last marker, -1 when there is none. */
  find(tag: number): number {
    for (let i = this.length - 1; i >= 0 && !this.isMarker(i); i--) if (this.store.a.tag[this.at(i)] === tag) return i;
    return -1;
  }

  indexOf(node: number): number {
    let i = this.length - 1;
    while (i >= 0 && this.entries[i] !== node) i--;
    return i;
  }

  removeAt(index: number): void {
    this.length--;
    if (index < this.length) this.entries.copyWithin(index, index + 1, this.length + 1);
  }

  insertAt(index: number, node: number): void {
    this.entries.copyWithin(index + 1, index, this.length++);
    this.entries[index] = node;
  }

  /** At most three elements with the same tag and attributes (HTML standard, "Noah's Ark clause"). */
  private dropAlike(node: number): void {
    let alike = 0;
    let earliest = -1;
    for (let i = this.length - 1; i >= 0 && !this.isMarker(i); i--) {
      if (!this.isAlike(this.at(i), node)) continue;
      alike++;
      earliest = i;
    }
    if (alike >= MAX_ALIKE) this.removeAt(earliest);
  }

  private isAlike(one: number, other: number): boolean {
    const { a, html } = this.store;
    if (a.tag[one] !== a.tag[other]) return false;
    const size = a.to[one]! - a.from[one]!;
    if (size !== a.to[other]! - a.from[other]!) return false;
    for (let k = 0; k < size; k++) {
      const i = a.from[one]! + k;
      const j = a.from[other]! + k;
      const length = a.attrTo[i]! - a.attrFrom[i]!;
      if (a.attrHash[i] !== a.attrHash[j] || length !== a.attrTo[j]! - a.attrFrom[j]!) return false;
      if (html.slice(a.attrFrom[i], a.attrTo[i]) !== html.slice(a.attrFrom[j], a.attrTo[j])) return false;
    }
    return true;
  }
}
