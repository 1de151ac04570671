/** What of the workspace a build may see: the rules of `.dockerignore`, of which the last one that fits decides. */
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

export class BuildContext {
  /** @type {{ keeps: boolean, pattern: RegExp }[]} */
  #rules;

  /** @param {string} folder the workspace, with its `.dockerignore` */
  constructor(folder) {
    this.folder = folder;
    const lines = readFileSync(path.join(folder, '.dockerignore'), 'utf8').split('\n');
    this.#rules = lines
      .map((line) => line.trim())
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => ({ keeps: line.startsWith('!'), pattern: patternOf(line.replace(/^!/, '')) }));
  }

  /** @param {string} place relative to the workspace */
  has(place) {
    const last = this.#rules.findLast(({ pattern }) => pattern.test(place));
    return last === undefined || last.keeps;
  }

  /** Files below a place, the place itself when it is one; with what changes when they do. @param {string} place @returns {string[]} */
  files(place) {
    const entries = readdirSync(path.join(this.folder, place, '..'), { withFileTypes: true });
    const entry = entries.find(({ name }) => name === path.basename(place));
    if (entry === undefined) throw new Error(`${place} is not in the workspace`);
    return this.#filesOf(path.normalize(place), entry.isDirectory());
  }

  /** @param {string} place @param {boolean} isFolder @returns {string[]} */
  #filesOf(place, isFolder) {
    if (!isFolder) return this.has(place) ? [place] : [];
    return readdirSync(path.join(this.folder, place), { withFileTypes: true }).flatMap((entry) =>
      this.#filesOf(path.join(place, entry.name), entry.isDirectory()),
    );
  }

  /** Copies what the build may see of a place; a folder's contents, as `COPY` does. @param {string} place @param {string} to @returns {number} files */
  copy(place, to) {
    const files = this.files(place);
    for (const file of files) {
      const inside = path.relative(path.normalize(place), file);
      cpSync(path.join(this.folder, file), inside === '' ? to : path.join(to, inside));
    }
    return files.length;
  }
}

/** A pattern fits a place and everything below it. @param {string} pattern */
function patternOf(pattern) {
  const parts = pattern.replace(/^\/|\/$/g, '').split(/(\*\*\/?|\*|\?)/);
  const source = parts.map((part) => {
    if (part.startsWith('**')) return '.*';
    if (part === '*') return '[^/]*';
    return part === '?' ? '[^/]' : part.replaceAll(/[.+^${}()|[\]\\]/g, '\\$&');
  });
  return new RegExp(`^${source.join('')}(/.*)?$`);
}
