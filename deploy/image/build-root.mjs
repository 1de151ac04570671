/** Carries the steps of a Dockerfile out in plain folders: a root file system per stage, kept while nothing changes. */
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { say } from '../local/say.mjs';
import { filled, readPairs, stagesOf } from './dockerfile.mjs';
import { baseRoot, hashOf, run, runInBuild } from './machine.mjs';

/**
 * @typedef {object} Built a root and the settings of its image
 * @property {string} root
 * @property {string} key changes with everything that it was made of
 * @property {Record<string, string>} env
 * @property {string} cwd
 * @property {string} user
 * @property {string[]} entrypoint
 * @property {string[]} command
 * @property {string[]} health the command of HEALTHCHECK
 */

/** @typedef {import('./dockerfile.mjs').Step} Step */

export class RootBuilder {
  /** @type {Map<string, Built>} */
  #built = new Map();

  /**
   * @param {import('./dockerfile.mjs').Dockerfile} file
   * @param {import('./context.mjs').BuildContext} context
   * @param {string} cache folder of roots
   */
  constructor(file, context, cache) {
    this.file = file;
    this.context = context;
    this.cache = cache;
  }

  /** @param {string} target @returns {Promise<Built>} */
  async build(target) {
    for (const stage of stagesOf(this.file, target)) {
      if (!this.#built.has(stage.name)) this.#built.set(stage.name, await this.#stage(stage));
    }
    return /** @type {Built} */ (this.#built.get(target));
  }

  /** Removes the roots of earlier runs that this one did not use. */
  prune() {
    const used = new Set([...this.#built.values()].map(({ root }) => path.basename(root)));
    for (const name of readdirSync(this.cache))
      if (name.startsWith('stage-') && !used.has(name))
        rmSync(path.join(this.cache, name), { recursive: true, force: true });
  }

  /** @param {import('./dockerfile.mjs').Stage} stage @returns {Promise<Built>} */
  async #stage(stage) {
    const below = this.#built.get(stage.from) ?? (await this.#base(stage.from));
    const key = hashOf([below.key, stage.steps, stage.steps.map((step) => this.#stamp(step))]);
    const root = path.join(this.cache, `stage-${stage.name}-${key}`);
    const draft = `${root}.new`;
    const isNew = !existsSync(root);
    if (isNew) {
      rmSync(draft, { recursive: true, force: true });
      await run('cp', ['-a', '--reflink=auto', below.root, draft]);
    } else say(`${stage.name}: nothing changed`);
    /** @type {Built} */
    const image = { ...below, env: { ...below.env }, key, root: isNew ? draft : root };
    for (const step of stage.steps) await this.#step(image, step, { stage: stage.name, isNew });
    if (isNew) renameSync(draft, root);
    return { ...image, root };
  }

  /** @param {string} image @returns {Promise<Built>} */
  async #base(image) {
    const root = await baseRoot(image, this.cache);
    return { root, key: image, env: {}, cwd: '/', user: '0:0', entrypoint: [], command: [], health: [] };
  }

  /** What a step reads from elsewhere. @param {Step} step */
  #stamp({ word, flags, text }) {
    if (word !== 'COPY') return null;
    if (flags.from !== undefined) return this.#built.get(flags.from)?.key;
    const sources = text.split(/\s+/).slice(0, -1);
    return sources.flatMap((source) =>
      this.context.files(source).map((file) => {
        const { size, mtimeMs } = statSync(path.join(this.context.folder, file));
        return [file, size, mtimeMs];
      }),
    );
  }

  /** Settings are read whether or not the files are there already. @param {Built} image @param {Step} step @param {{ stage: string, isNew: boolean }} how */
  async #step(image, step, { stage, isNew }) {
    const text = filled(step.text, image.env);
    switch (step.word) {
      case 'WORKDIR':
        image.cwd = path.posix.resolve(image.cwd, text);
        if (isNew) mkdirSync(path.join(image.root, image.cwd), { recursive: true });
        break;
      case 'ENV':
        Object.assign(image.env, Object.fromEntries(readPairs(text)));
        break;
      case 'USER':
        image.user = text.includes(':') ? text : `${text}:${text}`;
        break;
      case 'ENTRYPOINT':
        image.entrypoint = listOf(step);
        break;
      case 'CMD':
        image.command = listOf(step);
        break;
      case 'HEALTHCHECK':
        image.health = listOf(step);
        break;
      case 'VOLUME':
      case 'EXPOSE':
      case 'LABEL':
        break;
      case 'COPY':
        if (isNew) this.#copy(image, step);
        break;
      case 'RUN':
        if (!isNew) break;
        say(`${stage}: RUN ${step.text.replaceAll(/\s+/g, ' ').slice(0, 100)}`);
        await runInBuild(image.root, step.text, image.env, image.cwd);
        break;
      default:
        throw new Error(`line ${step.line}: ${step.word} cannot be carried out here`);
    }
  }

  /** @param {Built} image @param {Step} step */
  #copy(image, { text, flags, line }) {
    const places = text.split(/\s+/);
    const to = /** @type {string} */ (places.pop());
    const target = path.join(image.root, path.posix.resolve(image.cwd, to));
    const isFolder = to.endsWith('/') || places.length > 1;
    for (const place of places) {
      const inside = isFolder ? path.join(target, path.basename(place)) : target;
      if (this.#copyOne(image, place, { target, inside, flags }) === 0)
        throw new Error(`line ${line}: nothing to copy at ${place}; .dockerignore may leave it out`);
    }
  }

  /** @param {Built} image @param {string} place @param {{ target: string, inside: string, flags: Record<string, string> }} how @returns {number} files */
  #copyOne(image, place, { target, inside, flags }) {
    const from = flags.from === undefined ? null : this.#built.get(flags.from);
    const source = from === null ? path.join(this.context.folder, place) : path.join(from?.root ?? '', place);
    const to = statSync(source).isDirectory() ? target : inside;
    mkdirSync(path.dirname(to), { recursive: true });
    if (from !== null) cpSync(source, to, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
    const files = from === null ? this.context.copy(place, to) : 1;
    if (flags.chmod !== undefined && statSync(to).isFile()) chmodSync(to, Number.parseInt(flags.chmod, 8));
    return files;
  }
}

/** @param {Step} step */
function listOf({ list, line, word }) {
  if (list === null) throw new Error(`line ${line}: ${word} is not written as a JSON array`);
  return list;
}
