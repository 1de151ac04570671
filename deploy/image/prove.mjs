/**
 * `node deploy/image/prove.mjs`: carries the steps of the Dockerfile out without a container engine, in clean roots made of
 * Debian's packages, and runs what comes out of them as a restricted pod does: as user 10001, without capabilities, on a root
 * file system that cannot be written. Every role must start on a real Postgres and NATS, answer the image's own health check,
 * scrape and crawl a site on loopback, by HTTP and in Chromium, and end with 0 on SIGTERM.
 *
 * Needs Linux, root, and the registries (Debian's mirror, npm). Where it cannot be done it says so and ends with 77.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { dataFolders, cacheDir, root as workspace } from '../local/places.mjs';
import { choosePort } from '../local/ports.mjs';
import { say } from '../local/say.mjs';
import { Cluster } from '../local/supervisor.mjs';
import { RootBuilder } from './build-root.mjs';
import { Container } from './container.mjs';
import { BuildContext } from './context.mjs';
import { readDockerfile } from './dockerfile.mjs';
import { CannotProve, checkMachine } from './machine.mjs';
import { ProofSite } from './proof-site.mjs';

const HELP = `node deploy/image/prove.mjs [--build-only] [--target slim|browser]

  --build-only      make the roots, run nothing
  --target NAME     up to this target; default: browser, which has all`;

const EXIT_CANNOT = 77;
const KEY = 'fc-proof-of-the-image';
const LOOPBACK = '127.0.0.1';
const SLIM_ROLES = ['scheduler', 'converter', 'extractor', 'dispatcher', 'gateway'];
/** Files that must not be in an image, below its own folder. */
const UNWANTED = ['dist/test', 'apps', 'libs', 'node_modules/typescript', 'node_modules/jest', '.git'];

/** @typedef {import('./build-root.mjs').Built} Built */

/** @param {boolean} holds @param {string} what */
function expect(holds, what) {
  if (!holds) throw new Error(`not so: ${what}`);
  say(`  ok: ${what}`);
}

/** @param {Built} image @param {string} target */
function checkFiles(image, target) {
  const size = execFileSync('du', ['-sm', '--apparent-size', image.root], { encoding: 'utf8' }).split('\t')[0];
  say(`${target}: ${size} MB unpacked`);
  const there = UNWANTED.filter((place) => existsSync(path.join(image.root, 'app', place)));
  expect(
    there.length === 0,
    `${target} holds nothing that only a build needs${there.map((place) => ` (${place})`).join()}`,
  );
  const lists = execFileSync('find', [path.join(image.root, 'var/lib/apt/lists'), '-type', 'f', '-size', '+0'], {
    encoding: 'utf8',
  });
  expect(lists === '', `${target} holds no lists of packages`);
}

class Proof {
  /** @type {Container[]} */
  #running = [];
  #gateway = '';

  /** @param {Record<string, Built>} images @param {{ work: string, site: ProofSite, parts: Cluster }} world */
  constructor(images, { work, site, parts }) {
    this.images = images;
    this.site = site;
    this.parts = parts;
    this.data = path.join(work, 'data');
    mkdirSync(this.data);
    chownSync(this.data, 10001, 10001);
  }

  async run() {
    await this.#checkEntryPoint();
    await this.#migrate();
    const fetcher = await this.#start('fetcher', 'slim');
    await Promise.all(SLIM_ROLES.map((role) => this.#start(role, 'slim')));
    this.#checkRestrictions(fetcher);
    await this.#scrapeOverHttp();
    await this.#crawl();
    if (this.images.browser !== undefined) {
      await this.#stop(fetcher);
      await this.#start('fetcher', 'browser');
      await this.#scrapeInBrowser();
    }
    await Promise.all([...this.#running].map((container) => this.#stop(container)));
  }

  end() {
    for (const container of this.#running) container.kill();
  }

  /** @param {string} target @param {string[]} args @param {Record<string, string>} [env] */
  #container(target, args, env = {}) {
    const { postgres, nats } = this.parts.addresses;
    return new Container(args[0] ?? '(nothing)', {
      image: /** @type {Built} */ (this.images[target]),
      data: this.data,
      args,
      env: {
        DATABASE_URL: postgres,
        NATS_URL: nats,
        TROUPE_BOOTSTRAP_KEYS: `default:${KEY}`,
        ALLOW_PRIVATE_TARGETS: LOOPBACK,
        HOST_GAP_MS: '10',
        ...env,
      },
    });
  }

  async #checkEntryPoint() {
    const help = this.#container('slim', []);
    expect(
      (await help.ended) === 0 && help.output.includes('usage: troupe'),
      'without a role the image says how it is used',
    );
    const wrong = this.#container('slim', ['nonsense']);
    expect((await wrong.ended) === 64 && wrong.output.includes('unknown role'), 'a role that there is not is refused');
    const bare = this.#container('slim', ['gateway'], { DATABASE_URL: '', NATS_URL: '' });
    expect(
      (await bare.ended) === 78 && bare.output.includes('DATABASE_URL'),
      'missing settings are named, and the role ends',
    );
  }

  async #migrate() {
    for (const time of ['first', 'second']) {
      const migrate = this.#container('slim', ['migrate']);
      const code = await migrate.ended;
      if (code !== 0) say(migrate.output);
      expect(code === 0, `migrate ends with 0 the ${time} time`);
    }
  }

  /** All roles share the machine's network here, so each has ports of its own. @param {string} role @param {string} target */
  async #start(role, target) {
    const port = role === 'gateway' ? await choosePort(LOOPBACK) : 0;
    const env = {
      HOST: LOOPBACK,
      METRICS_PORT: String(await choosePort(LOOPBACK)),
      ...(port === 0 ? {} : { PORT: String(port) }),
    };
    const container = this.#container(target, [role], env);
    this.#running.push(container);
    const ms = await container.healthy();
    if (port !== 0) this.#gateway = `http://${LOOPBACK}:${port}`;
    expect(true, `${role} (${target}) is healthy after ${(ms / 1000).toFixed(1)} s`);
    return container;
  }

  /** @param {Container} container */
  async #stop(container) {
    const startedMs = performance.now();
    const code = await container.stop();
    this.#running = this.#running.filter((other) => other !== container);
    if (code !== 0) say(container.output);
    expect(
      code === 0,
      `${container.name} drains and ends with 0 on SIGTERM, after ${Math.round(performance.now() - startedMs)} ms`,
    );
  }

  /** @param {Container} container */
  #checkRestrictions(container) {
    expect(container.exec(['cat', '/proc/1/comm']).said === 'tini', 'the first process is tini');
    expect(container.exec(['id', '-u']).said === '10001', 'the user is 10001');
    for (const place of ['/app/x', '/etc/x', '/usr/x'])
      expect(
        /Read-only file system|Permission denied/.test(container.exec(['touch', place]).said),
        `${place} cannot be written`,
      );
    const root = container.exec(['sh', '-c', 'grep " / " /proc/self/mountinfo']).said;
    expect(/ \/ ro[, ]/.test(root), 'the root file system is read-only');
    for (const place of ['/tmp/x', '/data/x'])
      expect(container.exec(['touch', place]).status === 0, `${place} can be written`);
    const caps = container.exec(['sh', '-c', 'grep -E "^(CapEff|CapBnd|NoNewPrivs)" /proc/1/status']).said;
    expect(
      /CapEff:\s0+\n/.test(caps) && /NoNewPrivs:\s1/.test(caps),
      'there are no capabilities, and no way to get any',
    );
  }

  async #scrapeOverHttp() {
    const { data } = await this.#call('POST', '/v2/scrape', { url: this.site.url('/plain'), formats: ['markdown'] });
    expect(data.markdown.includes('Plain words'), 'a page is scraped over HTTP');
  }

  async #crawl() {
    const { id } = await this.#call('POST', '/v2/crawl', { url: this.site.url('/'), limit: 20 });
    const lines = await this.#read(`/v2/crawl/${id}`);
    const end = JSON.parse(lines.at(-1) ?? '{}');
    expect(
      end.status === 'completed' && end.completed === this.site.pages,
      `a crawl finds all ${this.site.pages} pages`,
    );
    const stored = execFileSync('find', [this.data, '-type', 'f', '-path', '*blobs*'], { encoding: 'utf8' });
    expect(stored !== '', 'large results are kept in /data');
  }

  async #scrapeInBrowser() {
    const body = { url: this.site.url('/script'), formats: ['markdown', 'screenshot'], waitFor: 300 };
    const { data } = await this.#call('POST', '/v2/scrape', body);
    expect(data.markdown.includes('Written by a script'), 'a page that a script writes is scraped in Chromium');
    expect(data.screenshot.startsWith('data:image/png;base64,'), 'a screenshot is taken');
  }

  /** @param {string} method @param {string} place @param {object} body */
  async #call(method, place, body) {
    const response = await fetch(this.#gateway + place, {
      method,
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const answer = await response.json();
    if (!response.ok)
      throw new Error(`${method} ${place}: ${response.status} ${JSON.stringify(answer)}\n${this.#outputs()}`);
    return answer;
  }

  /** Line by line, until the job ends. @param {string} place */
  async #read(place) {
    const headers = { authorization: `Bearer ${KEY}`, accept: 'application/x-ndjson' };
    const response = await fetch(this.#gateway + place, { headers, signal: AbortSignal.timeout(60_000) });
    return (await response.text()).trim().split('\n');
  }

  #outputs() {
    return this.#running.map(({ name, output }) => `== ${name}\n${output.slice(-2_000)}`).join('\n');
  }
}

/** @param {Record<string, Built>} images */
async function runImages(images) {
  const work = mkdtempSync(path.join(os.tmpdir(), 'troupe-proof-'));
  chmodSync(work, 0o755); // as root, Postgres runs as another user that must get in
  const site = await ProofSite.start();
  const folders = dataFolders(path.join(work, 'parts'));
  const parts = new Cluster({ folders, services: [], onLine: () => undefined, logFormat: 'json' });
  const proof = new Proof(images, { work, site, parts });
  try {
    await parts.start();
    await proof.run();
  } finally {
    proof.end();
    await parts.stop();
    await site.stop();
    rmSync(work, { recursive: true, force: true });
  }
}

/** @param {string[]} argv */
async function main(argv) {
  if (argv.includes('--help')) return void process.stdout.write(`${HELP}\n`);
  const at = argv.indexOf('--target');
  const last = at === -1 ? 'browser' : (argv[at + 1] ?? '');
  await checkMachine();
  const file = readDockerfile(readFileSync(path.join(workspace, 'deploy/image/Dockerfile'), 'utf8'));
  const cache = path.join(cacheDir(), 'image-proof');
  mkdirSync(cache, { recursive: true });
  const builder = new RootBuilder(file, new BuildContext(workspace), cache);
  /** @type {Record<string, Built>} */
  const images = {};
  for (const target of last === 'slim' ? ['slim'] : ['slim', last]) {
    images[target] = await builder.build(target);
    checkFiles(images[target], target);
  }
  builder.prune();
  if (argv.includes('--build-only')) return say('built, nothing run');
  await runImages(images);
  say(`proven: the steps of the Dockerfile make images that work (${Object.keys(images).join(', ')})`);
}

try {
  await main(process.argv.slice(2));
  process.exit(0);
} catch (error) {
  if (!(error instanceof CannotProve)) throw error;
  say(`SKIPPED: the image cannot be proven here: ${error.message}`);
  process.exit(EXIT_CANNOT);
}
