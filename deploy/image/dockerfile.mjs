/**
 * Reads a Dockerfile: its stages, and what each of them does, with arguments filled in.
 *
 * As much of the language as our own file uses; what is beyond that is refused by name, never passed over.
 */

/**
 * @typedef {object} Step
 * @property {number} line where it begins, from 1
 * @property {string} word `RUN`, `COPY`, …
 * @property {Record<string, string>} flags `--from=build` is `{ from: 'build' }`
 * @property {string} text what follows word and flags
 * @property {string[] | null} list the same when it is written as a JSON array
 */

/**
 * @typedef {object} Stage
 * @property {string} name
 * @property {string} from an image, or the name of an earlier stage
 * @property {number} line
 * @property {Record<string, string>} flags of FROM
 * @property {Step[]} steps
 */

/**
 * @typedef {object} Dockerfile
 * @property {Record<string, string>} args defaults of the arguments before the first FROM
 * @property {Stage[]} stages
 */

const KNOWN = new Set([
  'ARG',
  'CMD',
  'COPY',
  'ENTRYPOINT',
  'ENV',
  'EXPOSE',
  'HEALTHCHECK',
  'LABEL',
  'RUN',
  'STOPSIGNAL',
  'USER',
  'VOLUME',
  'WORKDIR',
  'ADD',
]);

/**
 * @param {string} text
 * @param {Record<string, string>} [given] values for its arguments, as `--build-arg` gives them
 * @returns {Dockerfile}
 */
export function readDockerfile(text, given = {}) {
  /** @type {Dockerfile} */
  const file = { args: {}, stages: [] };
  for (const { line, words } of logicalLines(text)) {
    const [, word = '', rest = ''] = /^(\S+)\s*(.*)$/s.exec(words) ?? [];
    addStep(file, readStep(line, word.toUpperCase(), rest), given);
  }
  if (file.stages.length === 0) throw new Error('the Dockerfile has no FROM');
  return file;
}

/** @param {Dockerfile} file @param {Step} step @param {Record<string, string>} given */
function addStep(file, step, given) {
  const stage = file.stages.at(-1);
  if (step.word === 'FROM') {
    file.stages.push(openStage(step, file.args));
  } else if (step.word === 'ARG' && stage === undefined) {
    const [, name = '', value = ''] = /^(\w+)=?(.*)$/s.exec(step.text) ?? [];
    file.args[name] = given[name] ?? unquoted(value);
  } else if (stage === undefined) {
    throw new Error(`line ${step.line}: ${step.word} before the first FROM`);
  } else if (!KNOWN.has(step.word)) {
    throw new Error(
      `line ${step.line}: ${step.word} is not understood here; deploy/image/dockerfile.mjs must learn it`,
    );
  } else {
    stage.steps.push(step);
  }
}

/** @param {Step} step @param {Record<string, string>} args @returns {Stage} */
function openStage({ line, text, flags }, args) {
  const [, image = '', name = ''] = /^(\S+)(?:\s+AS\s+(\S+))?$/i.exec(text) ?? [];
  return { name, from: filled(image, args), line, flags, steps: [] };
}

/** The stages that a target is made of, those it needs first. @param {Dockerfile} file @param {string} target @returns {Stage[]} */
export function stagesOf({ stages }, target) {
  const wanted = stages.find(({ name }) => name === target);
  if (wanted === undefined)
    throw new Error(`no stage ${target}; there are ${stages.map(({ name }) => name).join(', ')}`);
  const names = [wanted.from, ...wanted.steps.flatMap(({ flags }) => (flags.from === undefined ? [] : [flags.from]))];
  const below = names
    .filter((name) => stages.some((stage) => stage.name === name))
    .flatMap((name) => stagesOf({ stages, args: {} }, name));
  return [...new Set([...below, wanted])];
}

/** `$NAME` and `${NAME}` by their values; unknown names are empty. @param {string} text @param {Record<string, string>} values */
export function filled(text, values) {
  return text.replaceAll(/\$(?:\{(\w+)\}|(\w+))/g, (_, braced, bare) => values[braced ?? bare] ?? '');
}

/** `A=1 B="two words"` @param {string} text @returns {[string, string][]} */
export function readPairs(text) {
  const pairs = [...text.matchAll(/(\w+)=("(?:[^"\\]|\\.)*"|'[^']*'|\S*)/g)];
  return pairs.map(([, name = '', value = '']) => [name, unquoted(value)]);
}

/** @param {number} line @param {string} word @param {string} rest @returns {Step} */
function readStep(line, word, rest) {
  /** @type {Record<string, string>} */
  const flags = {};
  let text = rest;
  for (let flag = firstFlag(text); flag !== null; flag = firstFlag(text)) {
    flags[flag.name] = flag.value;
    text = text.slice(flag.length).trimStart();
  }
  return { line, word, flags, text, list: listIn(text) };
}

/** @param {string} text */
function firstFlag(text) {
  const match = /^--([\w-]+)(?:=(\S*))?(?=\s|$)/.exec(text);
  return match === null ? null : { name: match[1] ?? '', value: match[2] ?? '', length: match[0].length };
}

/** @param {string} text @returns {string[] | null} */
function listIn(text) {
  const [list] = /\[.*\]$/s.exec(text) ?? [];
  if (list === undefined || !/^(CMD\s+)?\[/.test(text)) return null;
  try {
    return JSON.parse(list);
  } catch {
    return null;
  }
}

/** @param {string} value */
function unquoted(value) {
  return /^(["']).*\1$/s.test(value) ? value.slice(1, -1) : value;
}

/** Lines joined at their backslashes, without comments and empty ones. @param {string} text */
function* logicalLines(text) {
  let words = '';
  let line = 0;
  for (const [index, raw] of text.split('\n').entries()) {
    if (/^\s*(#|$)/.test(raw)) continue;
    if (words === '') line = index + 1;
    words += raw.replace(/\\\s*$/, ' ');
    if (/\\\s*$/.test(raw)) continue;
    yield { line, words: words.trim() };
    words = '';
  }
}
