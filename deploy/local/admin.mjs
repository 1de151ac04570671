/** `npm start -- admin …`: the operator's calls, made through the HTTP API of a running cluster. */
import { EXIT, StartFailure } from './failure.mjs';
import { say } from './say.mjs';

const HELP = `The operator's side of a running Troupe cluster. A team is given by its name or its id.

  npm start -- admin teams
  npm start -- admin team show <team>
  npm start -- admin team create <name> [--concurrency N] [--credits N] [--flags JSON]
  npm start -- admin team set <team> [--name NAME] [--concurrency N|default] [--credits N|unlimited] [--flags JSON]
  npm start -- admin keys <team>
  npm start -- admin key create <team> <name> [--expires DATE]     prints the key, this once
  npm start -- admin key revoke <team> <keyId>
  npm start -- admin webhook-secret <team>                         a new one; the old one is good for 24 h more
  npm start -- admin proxies <team> [--basic LIST] [--stealth LIST] its own proxies, in place of those it had
  npm start -- admin model <team> <provider> <model> [--base-url URL] its own language model; its key is read from MODEL_KEY
  npm start -- admin model remove <team>                           the installation's again
  npm start -- admin usage [--team TEAM] [--from DATE] [--to DATE]
  npm start -- admin audit [--from DATE] [--to DATE] [--limit N]
  npm start -- admin blocklist
  npm start -- admin block <host> … [--reason TEXT]
  npm start -- admin unblock <host> …
  npm start -- admin dead-letters [--limit N] [--before ID]
  npm start -- admin replay <id>
  npm start -- admin replay all [--type TYPE]                      all that hold a message, the oldest first

  --url URL        gateway to talk to; default: the cluster that runs on the data folder
  --data-dir DIR   its data folder, default TROUPE_DATA_DIR or .troupe
  -h, --help       this text

ADMIN_KEY in the environment must be the one the cluster was started with. Answers are printed as JSON.
DATE is like 2030-01-31 or 2030-01-31T12:00:00Z. --flags takes {"zeroDataRetention":bool,"ignoreRobots":bool,
"rateLimits":{"scrape":N,…}} and replaces the flags the team had.

Exit codes: 0 done, 1 the cluster refused or could not be reached, 2 the command line is not right, 3 no cluster runs.`;

/** @typedef {Record<string, string>} Options */
/**
 * @typedef {object} Call
 * @property {string} method
 * @property {string} path
 * @property {object} [body]
 * @property {{ type?: string }} [replays] dead letters are read from `path`, and those that fit are sent again
 */
/**
 * @typedef {object} Verb
 * @property {string[]} words the typed words, without the names
 * @property {string[]} args names of its arguments; a last one that ends in `…` may repeat
 * @property {string[]} [options]
 * @property {(args: string[], options: Options) => Call} call a team stands in a path as `{name or id}`
 */

const GENERAL = ['url', 'data-dir'];

/** @type {Verb[]} */
const VERBS = [
  { words: ['teams'], args: [], call: () => get('teams') },
  { words: ['team', 'show'], args: ['team'], call: ([team]) => get(`teams/{${team}}`) },
  {
    words: ['team', 'create'],
    args: ['name'],
    options: ['concurrency', 'credits', 'flags'],
    call: ([name], options) => send('POST', 'teams', { name, ...settingsOf(options) }),
  },
  {
    words: ['team', 'set'],
    args: ['team'],
    options: ['name', 'concurrency', 'credits', 'flags'],
    call: ([team], { name, ...options }) =>
      send('PATCH', `teams/{${team}}`, { ...(name === undefined ? {} : { name }), ...settingsOf(options) }),
  },
  { words: ['keys'], args: ['team'], call: ([team]) => get(`teams/{${team}}/keys`) },
  {
    words: ['key', 'create'],
    args: ['team', 'name'],
    options: ['expires'],
    call: ([team, name], { expires }) => send('POST', `teams/{${team}}/keys`, { name, expiresAt: expires }),
  },
  {
    words: ['key', 'revoke'],
    args: ['team', 'keyId'],
    call: ([team, key]) => send('DELETE', `teams/{${team}}/keys/${encodeURIComponent(key ?? '')}`),
  },
  { words: ['webhook-secret'], args: ['team'], call: ([team]) => send('PUT', `teams/{${team}}/webhook-secret`, {}) },
  {
    words: ['proxies'],
    args: ['team'],
    options: ['basic', 'stealth'],
    call: ([team], { basic, stealth }) =>
      send('PUT', `teams/{${team}}/proxies`, { basic: listOf(basic), stealth: listOf(stealth) }),
  },
  { words: ['model', 'remove'], args: ['team'], call: ([team]) => send('DELETE', `teams/{${team}}/model`) },
  {
    words: ['model'],
    args: ['team', 'provider', 'model'],
    options: ['base-url'],
    // A key on the command line would be seen by every user of the machine.
    call: ([team, provider, model], { 'base-url': baseUrl }) =>
      send('PUT', `teams/{${team}}/model`, { provider, model, baseUrl, apiKey: process.env.MODEL_KEY || undefined }),
  },
  {
    words: ['usage'],
    args: [],
    options: ['team', 'from', 'to'],
    call: (_, { team, ...span }) =>
      get(`usage${query({ ...span, ...(team === undefined ? {} : { team: `{${team}}` }) })}`),
  },
  { words: ['audit'], args: [], options: ['from', 'to', 'limit'], call: (_, options) => get(`audit${query(options)}`) },
  { words: ['blocklist'], args: [], call: () => get('blocklist') },
  {
    words: ['block'],
    args: ['host…'],
    options: ['reason'],
    call: (hosts, { reason }) => send('PUT', 'blocklist', { hosts, reason }),
  },
  { words: ['unblock'], args: ['host…'], call: (hosts) => send('DELETE', 'blocklist', { hosts }) },
  {
    words: ['dead-letters'],
    args: [],
    options: ['limit', 'before'],
    call: (_, options) => get(`dead-letters${query(options)}`),
  },
  {
    words: ['replay', 'all'],
    args: [],
    options: ['type'],
    call: (_, { type }) => ({ ...get('dead-letters'), replays: { type } }),
  },
  {
    words: ['replay'],
    args: ['id'],
    call: ([id]) => send('POST', `dead-letters/${encodeURIComponent(id ?? '')}/replay`, {}),
  },
];

/** @param {string} path @returns {Call} */
function get(path) {
  return { method: 'GET', path };
}

/** @param {string} method @param {string} path @param {object} [body] @returns {Call} */
function send(method, path, body) {
  return { method, path, body };
}

/** @param {Options} options */
function query(options) {
  const text = Object.entries(options)
    .map(([name, value]) => `${name}=${value.startsWith('{') ? value : encodeURIComponent(value)}`)
    .join('&');
  return text === '' ? '' : `?${text}`;
}

/** @param {Options} options */
function settingsOf({ concurrency, credits, flags }) {
  return {
    ...(concurrency === undefined ? {} : { concurrency: numberOr('concurrency', concurrency, 'default') }),
    ...(credits === undefined ? {} : { creditsLimit: numberOr('credits', credits, 'unlimited') }),
    ...(flags === undefined ? {} : { flags: jsonOf(flags) }),
  };
}

/** @param {string | undefined} text a comma list */
function listOf(text = '') {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/** @param {string} name @param {string} text @param {string} none the word for "no number" */
function numberOr(name, text, none) {
  if (text === none) return null;
  if (!/^\d+$/.test(text)) refuse(`--${name} takes a whole number or "${none}", not "${text}".`);
  return Number(text);
}

/** @param {string} text */
function jsonOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return refuse(`--flags takes JSON, not "${text}".`);
  }
}

/** @param {string} message @returns {never} */
function refuse(message) {
  throw new StartFailure(`${message}\nTry: npm start -- admin --help`, EXIT.usage);
}

/**
 * @typedef {object} AdminCommand
 * @property {boolean} help
 * @property {string | null} url
 * @property {string | undefined} dataDir
 * @property {Call | null} call null with `help`
 */

/** @param {string[]} argv what follows `admin` @returns {AdminCommand} */
export function parseAdmin(argv) {
  const { words, options } = split(argv);
  const { url = null, 'data-dir': dataDir, ...own } = options;
  if (url !== null && !/^https?:\/\//i.test(url)) refuse(`--url takes an http or https address, not "${url}".`);
  if (argv.length === 0 || argv.some((arg) => arg === '--help' || arg === '-h'))
    return { help: true, url, dataDir, call: null };
  const verb = VERBS.find((known) => known.words.every((word, i) => words[i] === word));
  if (verb === undefined) return refuse(`There is no command "admin ${words.slice(0, 2).join(' ')}".`);
  const args = words.slice(verb.words.length);
  checkArguments(verb, args);
  const foreign = Object.keys(own).find((name) => !verb.options?.includes(name));
  if (foreign !== undefined) refuse(`--${foreign} does not belong to "admin ${verb.words.join(' ')}".`);
  return { help: false, url, dataDir, call: verb.call(args, own) };
}

/** @param {Verb} verb @param {string[]} args */
function checkArguments({ words, args: names }, args) {
  const missing = names[args.length];
  const isOpen = names.at(-1)?.endsWith('…') === true;
  if (missing !== undefined) refuse(`"admin ${words.join(' ')}" needs <${missing.replace('…', '')}>.`);
  if (!isOpen && args.length > names.length) refuse(`"${args[names.length]}" is one word too many.`);
}

/** @param {string[]} argv @returns {{ words: string[], options: Options }} */
function split(argv) {
  const known = [...GENERAL, ...VERBS.flatMap(({ options = [] }) => options)];
  const words = [];
  /** @type {Options} */
  const options = {};
  for (let i = 0; i < argv.length; i++) {
    const arg = /** @type {string} */ (argv[i]);
    if (arg === '-h' || arg === '--help') continue;
    if (!arg.startsWith('-')) {
      words.push(arg);
      continue;
    }
    const [name = '', inline] = arg.replace(/^--/, '').split(/=(.*)/s);
    if (!arg.startsWith('--') || !known.includes(name)) refuse(`There is no option ${arg}.`);
    const value = inline ?? argv[++i];
    if (value === undefined || value === '') refuse(`--${name} needs a value.`);
    options[name] = value;
  }
  return { words, options };
}

/** @param {AdminCommand} command @param {string | null} url of a gateway @returns {Promise<number>} exit code */
export async function runAdmin({ help, call }, url) {
  if (help || call === null) {
    process.stdout.write(`${HELP}\n`);
    return EXIT.ok;
  }
  const adminKey = process.env.ADMIN_KEY;
  if (!adminKey) refuse('Set ADMIN_KEY to the key that the cluster was started with.');
  if (url === null)
    throw new StartFailure(
      'No cluster runs on this data folder. Start one with ADMIN_KEY set, or name one with --url.',
    );
  try {
    const gateway = { url, adminKey };
    const answer = call.replays
      ? await replayAll(gateway, call.replays)
      : await ask(gateway, await withTeamId(gateway, call));
    process.stdout.write(`${JSON.stringify(answer, null, 2)}\n`);
    return EXIT.ok;
  } catch (error) {
    say(`admin: ${error instanceof Error ? error.message : error}`);
    return EXIT.jobFailed;
  }
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The team's id in place of its name. @param {Gateway} gateway @param {Call} call @returns {Promise<Call>} */
async function withTeamId(gateway, call) {
  const name = /\{(.*)\}/s.exec(call.path)?.[1];
  if (name === undefined) return call;
  const id = UUID.test(name) ? name : await findTeam(gateway, name);
  return { ...call, path: call.path.replace(`{${name}}`, () => id) };
}

/** @param {Gateway} gateway @param {string} name @returns {Promise<string>} */
async function findTeam(gateway, name) {
  const { teams } = await ask(gateway, get('teams'));
  const team = teams.find((/** @type {{ name: string }} */ entry) => entry.name === name);
  if (team === undefined) throw new Error(`there is no team "${name}"`);
  return team.id;
}

/** @typedef {{ url: string, adminKey: string }} Gateway */
/** @typedef {{ id: string, type: string, canReplay: boolean }} Letter */

const LETTERS_A_CALL = 1_000;

/**
 * Letters that cannot be replayed stay, and are named. Letters that come meanwhile are left for the next time.
 *
 * @param {Gateway} gateway @param {{ type?: string }} filter
 */
async function replayAll(gateway, { type }) {
  const letters = (await listLetters(gateway)).filter((letter) => type === undefined || letter.type === type);
  /** @type {{ id: string, reason: string }[]} */
  const left = [];
  for (const { id, canReplay } of letters.reverse()) {
    if (canReplay)
      await ask(gateway, send('POST', `dead-letters/${id}/replay`, {})).catch((error) =>
        left.push({ id, reason: error.message }),
      );
    else left.push({ id, reason: 'a timer, which its actor sets anew by itself' });
  }
  return { success: true, replayed: letters.length - left.length, left };
}

/** Newest first. @param {Gateway} gateway @returns {Promise<Letter[]>} */
async function listLetters(gateway) {
  /** @type {Letter[]} */
  const letters = [];
  for (;;) {
    const before = letters.length === 0 ? '' : `&before=${letters.at(-1)?.id}`;
    const { deadLetters } = await ask(gateway, get(`dead-letters?limit=${LETTERS_A_CALL}${before}`));
    letters.push(...deadLetters);
    if (deadLetters.length < LETTERS_A_CALL) return letters;
  }
}

/** @param {Gateway} gateway @param {Call} call @returns {Promise<any>} */
async function ask({ url, adminKey }, { method, path, body }) {
  const response = await fetch(new URL(`/admin/${path}`, url), {
    method,
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
  }).catch((error) => {
    throw new Error(`${url} does not answer (${error.cause?.code ?? error.message})`);
  });
  const answer = await response.json().catch(() => null);
  if (response.ok) return answer;
  throw new Error(reasonOf(response.status, answer));
}

/** @param {number} status @param {any} answer */
function reasonOf(status, answer) {
  if (status === 401) return 'ADMIN_KEY is not the one the cluster was started with';
  if (status === 404 && answer?.error === 'Not found') return 'this cluster was started without ADMIN_KEY';
  const issues = Array.isArray(answer?.details)
    ? answer.details.map((/** @type {any} */ issue) => `\n  ${issue.path.join('.')}: ${issue.message}`).join('')
    : '';
  return `${answer?.error ?? 'no reason given'}, status ${status}${issues}`;
}
