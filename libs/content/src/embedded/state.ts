/**
 * Texts about the page's subject in the state that an application left in its scripts (`application/json`,
 * `window.__STATE__ = {…}`): those inside objects that bear the subject's name. Bounded in size, depth and count.
 */
import { isObject, listOf, scriptText, type LdObject } from '../metadata/json-ld.js';
import { parseLooseJson } from '../metadata/json-repair.js';
import { wordsOf } from '../metadata/words-of.js';
import { A, T, type Tree } from '@troupe/html';
import { plainText, richText } from './rich-text.js';

export interface Passage {
  /** '' when it has none. */
  readonly title: string;
  /** HTML. */
  readonly text: string;
}

const MAX_SCRIPT_CHARS = 2_000_000;
const MAX_TOTAL_CHARS = 3_000_000;
const MAX_SCRIPTS = 30;
const MAX_OBJECTS = 20_000;
const MAX_DEPTH = 24;
const MAX_PASSAGES = 60;
const MIN_PASSAGE_CHARS = 40;
const JSON_TYPE = /^\s*application\/(?:[\w.-]{1,40}\+)?json/i;
const LD_TYPE = /ld\+json/i;
const ASSIGNMENT = /^[^{[=(]{0,60}(?:__[A-Za-z_]{2,40}__|STATE|state|DATA|data)["'\]]{0,2}\s{0,20}=\s{0,20}(?=[{[])/;
const NAMES = ['name', 'title', 'headline', 'productName', 'displayName', 'heading'];
const TEXT_KEY =
  /^(?:(?:long|short|full|product|rich|html|main|article)?_?(?:description|body|content|text|details?|features?|specifications?|specs|materials?|composition|ingredients|care|directions|summary|overview|highlights|benefits|html|value|answer|bodytext))(?:_?html)?$/i;
const OTHER_SUBJECT =
  /related|recommend|similar|variant|breadcrumb|navigation|menu|footer|header|seo|meta|review|comment|image|media|asset|config|setting|translation|i18n|locale|policy|legal|tracking|analytics|siblings|upsell|crosssell|cart/i;

/** @param names of the page's subject. */
export function readState(tree: Tree, names: readonly string[]): Passage[] {
  const wanted = new Set(names.map(wordsOf).filter((words) => words !== ''));
  if (wanted.size === 0) return [];
  const reader = new StateReader(wanted);
  for (const text of stateScripts(tree)) reader.read(parseLooseJson(text), 0, false);
  return reader.passages;
}

/** JSON that stands in scripts, as text. */
export function stateScripts(tree: Tree): string[] {
  const found: string[] = [];
  let total = 0;
  for (let node = 1; node < tree.count && found.length < MAX_SCRIPTS; node++) {
    if (tree.tag[node] !== T.script) continue;
    const type = tree.attr(node, A.type) ?? '';
    const text = scriptText(tree, node);
    const from = LD_TYPE.test(type)
      ? -1
      : JSON_TYPE.test(type)
        ? 0
        : (ASSIGNMENT.exec(text.slice(0, 200))?.[0].length ?? -1);
    if (from < 0 || text.length > MAX_SCRIPT_CHARS || (total += text.length) > MAX_TOTAL_CHARS) continue;
    found.push(text.slice(from));
  }
  return found;
}

class StateReader {
  readonly passages: Passage[] = [];
  private readonly seen = new Set<string>();
  private objects = 0;

  constructor(private readonly names: ReadonlySet<string>) {}

  /** @param isSubject inside an object that bears the name. */
  read(value: unknown, depth: number, isSubject: boolean): void {
    if (depth > MAX_DEPTH || this.objects > MAX_OBJECTS || this.passages.length >= MAX_PASSAGES) return;
    if (Array.isArray(value)) for (const entry of value) this.read(entry, depth + 1, isSubject);
    else if (isObject(value)) this.readObject(value, depth, isSubject);
  }

  private readObject(object: LdObject, depth: number, isSubject: boolean): void {
    this.objects++;
    const title = titleOf(object);
    const isAbout = isSubject || this.names.has(wordsOf(title));
    for (const key of Object.keys(object)) {
      const value = object[key];
      if (isAbout && OTHER_SUBJECT.test(key)) continue;
      if (isAbout && TEXT_KEY.test(key)) this.keepTexts(title, value);
      if (typeof value === 'object') this.read(value, depth + 1, isAbout);
    }
  }

  private keepTexts(title: string, value: unknown): void {
    for (const entry of listOf(value)) {
      if (typeof entry !== 'string' || entry.length < MIN_PASSAGE_CHARS || this.seen.has(entry)) continue;
      this.seen.add(entry);
      const text = richText(entry);
      if (!isReadable(plainText(text))) continue;
      this.passages.push({ title: this.names.has(wordsOf(title)) ? '' : title, text });
    }
  }
}

function titleOf(object: LdObject): string {
  for (const name of NAMES) {
    const value = object[name];
    if (typeof value === 'string' && value.length < 300) return value;
  }
  return '';
}

/** Words with spaces between them, and none of the signs of code. */
function isReadable(text: string): boolean {
  const sample = text.slice(0, 2000);
  const words = sample.match(/\p{L}{2,}/gu)?.length ?? 0;
  const signs = sample.match(/[{}<>;=|\\]/g)?.length ?? 0;
  return words >= 5 && signs * 5 < words && !/^\s*(?:https?:|[[{])/.test(sample);
}
