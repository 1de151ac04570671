/** The command line of the bench. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { root } from '../../deploy/local/places.mjs';

const HELP = `npm run bench [-- options]

Runs Troupe (every service, Postgres and NATS as processes of their own) and other crawlers on the same site in one
run, checks what came out, and prints a table. Needs Linux and the bench kit (a test site and drivers of the peers).

  --kit DIR       the bench kit; TROUPE_BENCH_KIT; default ../shared/bench beside this folder
  --peers A,B     peers of the kit: crawlee (default), colly, spider, scrapy, …; none: Troupe alone
  --pages N       pages of the site (default 10000)
  --rounds N      how often everything is measured, interleaved (default 3); the table shows medians
  --hosts K       addresses 127.0.0.1 … 127.0.0.K of the site, at most 250 (default 250)
  --batch N       URLs of a batch (default 2000, at most N of --pages - 1)
  --scrapes N     requests per scrape measure, five times as many for a rate (default 500)
  --out DIR       where the JSON lines go (default bench-results)
  --no-build      use the compiled sources as they are
  --keep          keep the data folders of the clusters
  --help`;

/** Thrown when the command line makes no sense. */
export class UsageError extends Error {}

const DEFAULTS = {
  kit: process.env.TROUPE_BENCH_KIT || path.join(root, '../shared/bench'),
  peers: 'crawlee',
  pages: '10000',
  rounds: '3',
  hosts: '250',
  batch: '2000',
  scrapes: '500',
  out: path.join(root, 'bench-results'),
};
const SWITCHES = new Set(['help', 'no-build', 'keep']);

/** @param {string[]} argv @returns {{ values: Record<string, string>, switches: Set<string> }} */
function readWords(argv) {
  const values = /** @type {Record<string, string>} */ ({ ...DEFAULTS });
  const switches = new Set();
  for (let i = 0; i < argv.length; i++) {
    const [name, inline] = argv[i].replace(/^--/, '').split(/=(.*)/s);
    if (!argv[i].startsWith('--') || !(SWITCHES.has(name) || name in DEFAULTS))
      throw new UsageError(`There is no option ${argv[i]}; see --help.`);
    if (SWITCHES.has(name)) switches.add(name);
    else values[name] = inline ?? argv[++i] ?? '';
  }
  return { values, switches };
}

/** @param {string} name @param {string} text @param {number} [max] */
function wholeNumber(name, text, max = 1_000_000) {
  const number = Number(text);
  if (Number.isInteger(number) && number >= 1 && number <= max) return number;
  throw new UsageError(`--${name} takes a whole number from 1 to ${max}, not "${text}".`);
}

/**
 * @typedef {object} Options
 * @property {string} kit
 * @property {string[]} peers
 * @property {number} pages
 * @property {number} rounds
 * @property {number} hosts
 * @property {number} batch
 * @property {number} scrapes
 * @property {string} out
 * @property {boolean} build
 * @property {boolean} keep
 */

/** @param {string[]} argv @returns {Options | { help: string }} */
export function parseOptions(argv) {
  const { values, switches } = readWords(argv);
  if (switches.has('help')) return { help: HELP };
  const pages = wholeNumber('pages', values.pages);
  if (pages < 100) throw new UsageError('--pages must be at least 100.');
  return {
    kit: path.resolve(values.kit),
    peers: values.peers === 'none' ? [] : values.peers.split(',').filter(Boolean),
    pages,
    rounds: wholeNumber('rounds', values.rounds),
    hosts: wholeNumber('hosts', values.hosts, 250),
    batch: Math.min(wholeNumber('batch', values.batch), pages - 1),
    scrapes: wholeNumber('scrapes', values.scrapes),
    out: path.resolve(values.out),
    build: !switches.has('no-build'),
    keep: switches.has('keep'),
  };
}

/** Why nothing can be measured here, or null. @param {Options} options */
export function reasonToSkip(options) {
  if (process.platform !== 'linux') return 'it reads /proc, which only Linux has';
  if (!existsSync(path.join(options.kit, 'site/server.mjs')))
    return `the bench kit is not at ${options.kit} (give its folder with --kit DIR or TROUPE_BENCH_KIT)`;
  const unknown = options.peers.filter((peer) => !existsSync(path.join(options.kit, 'peers', peer, 'run.sh')));
  if (unknown.length > 0) throw new UsageError(`The kit has no peer ${unknown.join(', ')}.`);
  return null;
}
