import { EXIT, StartFailure } from './failure.mjs';

export const HELP = `Troupe: a crash-safe web crawler cluster that speaks the Firecrawl HTTP API.

  npm start                                  bring up the whole cluster and keep it running
  npm start -- crawl <url> [--limit N]       crawl a site and write or print its pages
  npm start -- scrape <url>                  one page
  npm start -- map <url> [--limit N]         the URLs of a site
                                             (these three use the running cluster, else one of their own)
  npm start -- admin --help                  teams, keys, limits, blocklist, audit of a running cluster
  npm start -- doctor [--json]               what is wrong with this installation, and how to mend it

Cluster
  --fetchers N  --schedulers N  --gateways N  --converters N
                       replicas of a service, default 1 each; 0 fetchers or schedulers: to be processes of your own
  --data-dir DIR       data of this cluster, default TROUPE_DATA_DIR or .troupe
  --json               one line on standard output when ready, {"ready":true,"url":…,"apiKey":…}; logs on standard error
  --no-build           use dist/ as it is

Jobs
  --limit N            at most N pages (crawl) or URLs (map)
  --out DIR            write files, a folder per host and path; without it print to standard output
  --format F           markdown (default), html, rawHtml, links or json (the whole document)

  -h, --help           this text

Settings come from the environment; see .env.example. PORT=0 picks a free port.

Exit codes
  0   done; a cluster was stopped in good order
  1   the job failed, or a page could not be had
  2   the command line is not right
  3   the cluster could not be set up or started; the message says how to mend it
  4   a cluster already runs on this data folder
  5   the doctor has warnings
  6   the doctor found what does not work
  130 interrupted`;

const FORMATS = ['markdown', 'html', 'rawHtml', 'links', 'json'];
const JOBS = ['crawl', 'scrape', 'map'];
const COMMANDS = [...JOBS, 'doctor'];
const REPLICAS = ['fetchers', 'schedulers', 'gateways', 'converters'];
const VALUED = [...REPLICAS, 'limit', 'out', 'format', 'data-dir'];
const SWITCHES = ['json', 'no-build', 'help'];

/**
 * @typedef {object} Arguments
 * @property {'start' | 'crawl' | 'scrape' | 'map' | 'doctor'} command
 * @property {string | null} url
 * @property {{ fetchers: number, schedulers: number, gateways: number, converters: number }} replicas
 * @property {number | null} limit
 * @property {string | null} out
 * @property {'markdown' | 'html' | 'rawHtml' | 'links' | 'json'} format
 * @property {string | undefined} dataDir
 * @property {boolean} json
 * @property {boolean} build
 * @property {boolean} help
 */

/** @param {string} message @returns {never} */
function refuse(message) {
  throw new StartFailure(`${message}\nTry: npm start -- --help`, EXIT.usage);
}

/** @param {string} name @param {string} text @param {number} least */
function toCount(name, text, least) {
  if (!/^\d+$/.test(text) || Number(text) < least)
    refuse(`--${name} takes a whole number from ${least} on, not "${text}".`);
  return Number(text);
}

/** @param {string[]} argv @returns {{ words: string[], options: Map<string, string> }} */
function split(argv) {
  const words = [];
  const options = new Map();
  for (let i = 0; i < argv.length; i++) {
    const arg = argv[i] === '-h' ? '--help' : argv[i];
    if (!arg.startsWith('-')) {
      words.push(arg);
      continue;
    }
    const [name, inline] = arg.replace(/^--/, '').split(/=(.*)/s);
    if (!arg.startsWith('--') || ![...VALUED, ...SWITCHES].includes(name)) refuse(`There is no option ${arg}.`);
    if (options.has(name)) refuse(`--${name} is given twice.`);
    if (SWITCHES.includes(name)) {
      if (inline !== undefined) refuse(`--${name} takes no value.`);
      options.set(name, 'true');
      continue;
    }
    const value = inline ?? argv[++i];
    if (value === undefined || value === '') refuse(`--${name} needs a value.`);
    options.set(name, value);
  }
  return { words, options };
}

/** @param {string | undefined} text */
function toUrl(text) {
  if (text === undefined) return null;
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `https://${text}`;
  if (!URL.canParse(url) || !/^https?:/i.test(url)) refuse(`"${text}" is not an http or https address.`);
  return url;
}

/** @param {string[]} argv without node and script @returns {Arguments} */
export function parseArguments(argv) {
  const { words, options } = split(argv);
  const [command = 'start', target, ...more] = words;
  const help = options.has('help');
  if (command !== 'start' && !COMMANDS.includes(command)) refuse(`There is no command "${command}".`);
  const isJob = JOBS.includes(command);
  if (more.length > 0 || (!isJob && target !== undefined)) refuse(`"${more[0] ?? target}" is one word too many.`);
  if (isJob && target === undefined && !help) refuse(`${command} needs the address of a page.`);
  if (command === 'doctor') forbid(options, REPLICAS, 'belongs to a cluster');
  if (!isJob) forbid(options, ['limit', 'out', 'format'], 'belongs to crawl, scrape and map');
  else forbid(options, ['json'], 'belongs to a cluster that keeps running');
  if (command === 'map') forbid(options, ['format'], 'belongs to crawl and scrape');
  if (command === 'scrape') forbid(options, ['limit'], 'belongs to crawl and map');
  const format = options.get('format') ?? 'markdown';
  if (!FORMATS.includes(format)) refuse(`--format is one of ${FORMATS.join(', ')}, not "${format}".`);
  const count = (/** @type {string} */ name, least = 1) => toCount(name, options.get(name) ?? '1', least);
  return {
    command: /** @type {Arguments['command']} */ (command),
    url: toUrl(target),
    replicas: {
      fetchers: count('fetchers', command === 'start' ? 0 : 1),
      schedulers: count('schedulers', command === 'start' ? 0 : 1),
      gateways: count('gateways'),
      converters: count('converters', 0),
    },
    limit: options.has('limit') ? count('limit') : null,
    out: options.get('out') ?? null,
    format: /** @type {Arguments['format']} */ (format),
    dataDir: options.get('data-dir'),
    json: options.has('json'),
    build: !options.has('no-build'),
    help,
  };
}

/** @param {Map<string, string>} options @param {string[]} names @param {string} why */
function forbid(options, names, why) {
  const found = names.find((name) => options.has(name));
  if (found !== undefined) refuse(`--${found} ${why}.`);
}
