/**
 * Which specs run together, and how much of the machine each group takes.
 *
 * A group is one run of jest. Places are what keeps the machine busy and not much busier: five for two cores, because a group with
 * one place works less than half of its time.
 */
import os from 'node:os';

/** A cluster takes some 700 MB, a browser as much again. */
const BYTES_PER_PLACE = 2 ** 31;
const CORES = os.availableParallelism();

/** How many places this machine has: 5 with two cores. */
export const PLACES = Math.max(1, Math.min(Math.floor(2.5 * CORES), 8, Math.floor(os.totalmem() / BYTES_PER_PLACE)));
const WORKERS = Math.max(1, Math.min(4, PLACES, Math.floor(CORES / 2)));

/**
 * @typedef {object} SpecGroup
 * @property {string} name
 * @property {string[]} specs
 * @property {number} places
 * @property {string[]} flags of jest
 * @property {boolean} shares whether specs that ask for the same cluster get one
 */

/**
 * @typedef {object} Kind
 * @property {RegExp} match of the path of a spec
 * @property {string} [group] name of the group of all of them; without, each is a group of its own
 * @property {number} places
 * @property {number} [workers] processes of jest; without, one after the other in one process
 * @property {boolean} [shares]
 */

const REST = 'units and adapters';

/**
 * First match counts; groups start in this order, the longest first, as places become free. The first three, and the group after them,
 * read the time from page to page: nothing else may run beside them. Some more need room, not silence.
 *
 * @type {Kind[]}
 */
const KINDS = [
  { match: /\/test\/e2e\/politeness\./, places: PLACES },
  { match: /\/test\/e2e\/watch\./, places: PLACES },
  { match: /\/test\/adversary\/3-/, places: PLACES },
  // They wait most of the time: all beside each other, and beside nothing else.
  {
    match: /\/test\/(e2e\/politeness-|clients\/troubles)/,
    group: 'hosts in trouble',
    places: PLACES,
    workers: PLACES,
  },
  {
    match: /\/apps\/fetcher\/src\/browser\//,
    group: 'browsers',
    places: Math.min(2, PLACES),
    workers: WORKERS,
  },
  { match: /\/test\/ops\/(rolling|scaling)\./, places: Math.min(3, PLACES) },
  // Their disks lie in memory, their schedules and gaps in time.
  { match: /\/test\/(chaos\/(disk-full|random-kills)|adversary\/6-clock-steps)\./, places: Math.min(2, PLACES) },
  { match: /\/test\/chaos\//, places: 1 },
  {
    match: /\/test\/e2e\/(documents|branding|change-tracking|selectors|map|page-view)\./,
    group: 'formats',
    places: 1,
    shares: true,
  },
  { match: /\/test\/e2e\/bad-input\./, places: 1 },
  { match: /\/test\/e2e\/known-graph\./, places: 1 },
  { match: /\/test\/contract\/(?!operation|any-request)/, group: 'contract', places: 1, shares: true },
  { match: /\/test\/(clients\/tools|e2e\/(sdk|real-pages))/, group: 'clients', places: 1, shares: true },
  { match: /\/test\/e2e\/(no-fetcher|accounts)\./, places: 1 },
  { match: /\/test\/e2e\/(webhooks|browser)\./, places: Math.min(2, PLACES) },
  { match: /\/test\/e2e\/(actions|job-calls)\./, places: 1 },
  { match: /\/test\/simulation\//, places: Math.min(2, PLACES) },
  { match: /\/test\/(e2e|contract|clients|ops|adversary)\//, places: 1 },
  { match: /./, group: REST, places: WORKERS, workers: WORKERS },
];

/** @param {string} spec @returns {string} `e2e/map` */
export function shortName(spec) {
  return spec.replace(/^.*\/dist\/(test\/)?/, '').replace(/\.spec\.js$/, '');
}

/** @param {string[]} specs paths @returns {SpecGroup[]} in the order in which they start */
export function makeGroups(specs) {
  const groups = KINDS.flatMap((kind, i) => {
    const own = specs.filter((spec) => KINDS.findIndex(({ match }) => match.test(spec)) === i);
    if (own.length === 0) return [];
    if (kind.group !== undefined) return [describeGroup(kind, kind.group, own)];
    return own.map((spec) => describeGroup(kind, shortName(spec), [spec]));
  });
  // The rest is one long group, and what needs room finds it at the beginning only: begun last they would end alone.
  const urgency = ({ name, places }) => (places < PLACES && name === REST ? PLACES - 0.5 : places);
  return groups.sort((a, b) => urgency(b) - urgency(a));
}

/** @param {Kind} kind @param {string} name @param {string[]} specs @returns {SpecGroup} */
function describeGroup({ places, workers, shares = false }, name, specs) {
  // A limit of memory makes jest use processes of its own even for one worker, which it replaces when they have grown.
  const flags = workers === undefined ? ['--runInBand'] : [`--maxWorkers=${workers}`, '--workerIdleMemoryLimit=512MB'];
  return { name, specs, places, flags, shares };
}
