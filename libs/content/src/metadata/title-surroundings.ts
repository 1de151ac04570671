/** Short texts around a page's title: where bylines and dates stand that no markup names. */
import { F, TEXT, flagsOf } from '../tags.js';
import type { Tree } from '../tree.js';

export interface Surroundings {
  /** Texts with digits, nearest first. */
  readonly dated: readonly string[];
  /** Texts that begin as a byline does, document order. */
  readonly bylines: readonly string[];
}

const NODES_BEFORE = 40;
const NODES_AFTER = 120;
const MAX_CHARS = 160;
const MAX_TEXTS = 12;
const BYLINE =
  /^(?:(?:written|posted|published|reviewed|words|text|verfasst|geschrieben|publié|écrit|escrito|scritto|geschreven)\s)?(?:by|von|par|por|di|door|av|af|przez|autor(?:in|a)?|author|auteur|autore|автор|yazan|text|words|foto|作者|文|撰文|記者|著者)(?:\s?[:：]\s?|\s|$)/i;
const ONLY_PREFIX = /^[\p{L}\s]{2,20}[:：]?$/u;

export function readSurroundings(tree: Tree, heading: number): Surroundings {
  const texts = heading < 0 ? [] : textsAround(tree, heading);
  const bylines: string[] = [];
  texts.forEach(({ text }, i) => {
    if (bylines.length >= 4 || !BYLINE.test(text)) return;
    const isBare = ONLY_PREFIX.test(text) && text.split(' ').length <= 2;
    bylines.push(isBare ? `${text} ${texts[i + 1]?.text ?? ''}` : text);
  });
  const dated = texts.filter(({ text }) => /\d/.test(text)).sort((a, b) => a.distance - b.distance);
  return { dated: dated.slice(0, MAX_TEXTS).map(({ text }) => text), bylines };
}

function textsAround(tree: Tree, heading: number): { text: string; distance: number }[] {
  const found: { text: string; distance: number }[] = [];
  const last = Math.min(tree.end[heading]! + NODES_AFTER, tree.count);
  for (let i = Math.max(1, heading - NODES_BEFORE); i < last; i++) {
    if (tree.tag[i] !== TEXT || flagsOf(tree.tag[tree.parent[i]!]!) & F.invisible) continue;
    if (tree.to[i]! - tree.from[i]! > MAX_CHARS * 4 || (i >= heading && i < tree.end[heading]!)) continue;
    const text = tree.text(i).replace(/\s+/g, ' ').trim();
    if (text === '' || text.length > MAX_CHARS) continue;
    found.push({ text, distance: i < heading ? 2 * (heading - i) : i - heading });
  }
  return found;
}
