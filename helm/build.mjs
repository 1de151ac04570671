/**
 * `node helm/build.mjs`: writes the chart's README, every value with its default and its meaning, from `values.yaml` and
 * `.env.example`, and puts the settings of `values.yaml` into the schema. With `--check` nothing is written; the exit code tells
 * whether both are up to date.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { isMap, isScalar, parseDocument } from 'yaml';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const README = 'helm/troupe/README.md';
const SCHEMA = 'helm/troupe/values.schema.json';
/** Said as a whole. */
const WHOLE = new Set(['resources', 'podSecurityContext', 'securityContext']);
const read = (/** @type {string} */ file) => readFileSync(path.join(root, file), 'utf8');

/**
 * What `.env.example` says of each setting: its default, and the comment right before it.
 *
 * @returns {Map<string, { meaning: string, value: string }>}
 */
function readSettings() {
  const settings = new Map();
  let lines = [];
  for (const line of read('.env.example').split('\n')) {
    const [, comment] = /^# (?!---)(.*)$/.exec(line) ?? [];
    const [, key, value] = /^([A-Z][A-Z0-9_]*)=(.*)$/.exec(line) ?? [];
    if (comment !== undefined) lines.push(comment);
    else {
      if (key !== undefined) settings.set(key, { meaning: lines.join(' '), value });
      lines = [];
    }
  }
  return settings;
}

/**
 * What `# -- …` before a key says, lines that follow it included.
 *
 * @param {string | null | undefined} comment
 */
function meaningOf(comment) {
  const [, meaning = ''] = /(?:^|\n) -- ([^]*)$/.exec(comment ?? '') ?? [];
  return meaning.replaceAll(/\n ?/g, ' ').trim();
}

/**
 * @typedef {object} Row
 * @property {string} name
 * @property {unknown} value
 * @property {string} meaning
 */

/**
 * Rows of a map and of the maps in it, as far as they say something of their own.
 *
 * @param {import('yaml').YAMLMap} map
 * @param {string} prefix
 * @param {ReturnType<typeof readSettings>} settings
 * @returns {Row[]}
 */
function rowsOf(map, prefix, settings) {
  return map.items.flatMap(({ key, value }, i) => {
    if (!isScalar(key)) return [];
    // The first comment of a map stands before the map.
    const comment = key.commentBefore ?? (i === 0 ? map.commentBefore : null);
    const name = `${prefix}${key.value}`;
    const setting = settings.get(String(key.value));
    if (setting !== undefined) return [{ name, value: value?.toJSON() || setting.value, meaning: setting.meaning }];
    const meaning = meaningOf(comment);
    if (isMap(value) && value.items.length > 0 && !WHOLE.has(String(key.value)))
      return [...(meaning ? [{ name, value: undefined, meaning }] : []), ...rowsOf(value, `${name}.`, settings)];
    return [{ name, value: value?.toJSON(), meaning }];
  });
}

const shown = (/** @type {unknown} */ value) => (value === undefined ? '' : `\`${JSON.stringify(value)}\``);
const cell = (/** @type {string} */ text) => text.replaceAll('|', '\\|');

/** @param {Row[]} rows */
function table(rows) {
  const lines = rows.map(({ name, value, meaning }) => `| \`${name}\` | ${cell(shown(value))} | ${cell(meaning)} |`);
  return ['| value | default | meaning |', '| --- | --- | --- |', ...lines].join('\n');
}

/** @param {import('yaml').YAMLMap} values */
function readme(values) {
  const rows = rowsOf(values, '', readSettings());
  const isSetting = ({ name }) => /^(config|secrets\.keys)\./.test(name);
  const { version, appVersion, kubeVersion } = parseDocument(read('helm/troupe/Chart.yaml')).toJS();
  return `<!-- Written by helm/build.mjs; change values.yaml, .env.example or that program instead. -->

# troupe

Chart ${version} of Troupe ${appVersion}, for Kubernetes ${kubeVersion}. [How to install it](../README.md).

## Values

${table(rows.filter((row) => !isSetting(row)))}

## Settings of the program

The defaults are those of the program, unless the chart has one of its own; an empty value stands for the default.

${table(rows.filter(isSetting))}
`;
}

/** The schema with exactly the settings of the values; what it says of one that it knows stays. @param {any} values */
function schema(values) {
  const text = JSON.parse(read(SCHEMA));
  const listed = (/** @type {object} */ keys, /** @type {any} */ known, /** @type {object} */ otherwise) =>
    Object.fromEntries(Object.keys(keys).map((key) => [key, known[key] ?? otherwise]));
  const { config, secrets } = text.properties;
  config.properties = listed(values.config, config.properties, { $ref: '#/$defs/setting' });
  const { keys, from } = secrets.properties;
  keys.properties = listed(values.secrets.keys, keys.properties, { type: 'string' });
  from.properties = listed(values.secrets.keys, from.properties, { $ref: '#/$defs/secretKey' });
  return JSON.stringify(text);
}

async function main() {
  const values = parseDocument(read('helm/troupe/values.yaml')).contents;
  if (!isMap(values)) throw new Error('values.yaml is no map');
  const style = await resolveConfig(path.join(root, README));
  const outputs = { [README]: readme(values), [SCHEMA]: schema(values.toJSON()) };
  for (const [file, text] of Object.entries(outputs)) {
    const written = await format(text, { ...style, filepath: file });
    if (written === read(file)) continue;
    if (process.argv.includes('--check')) {
      process.stderr.write(`${file} is not up to date: run node helm/build.mjs\n`);
      process.exitCode = 1;
    } else {
      writeFileSync(path.join(root, file), written);
      process.stdout.write(`${file}\n`);
    }
  }
}

await main();
