/**
 * A whole cluster on one machine: Postgres, NATS and every service as processes of their own, kept alive, recorded in
 * `run/cluster.json`, and stopped in order (gateways, other services, NATS, Postgres).
 */
import { spawn } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { StartFailure } from './failure.mjs';
import { Keeper, launchGuarded, launchService } from './keeper.mjs';
import { endLeftovers } from './leftovers.mjs';
import { LogFile, readLines } from './logs.mjs';
import { findBrowsers } from './parts/chromium.mjs';
import { isNatsReady, NatsDiskWatch, prepareNats } from './parts/nats.mjs';
import { clearStalePid, isPostgresReady, preparePostgres } from './parts/postgres.mjs';
import { root } from './places.mjs';
import { choosePort, isPortFree } from './ports.mjs';
import { givenSecret, loadSecrets, readRecord, writeRecord, writeSecrets } from './records.mjs';
import { say } from './say.mjs';

const LOOPBACK = '127.0.0.1';
const DEFAULT_PORT = 3002;
const PART_START_MS = 60_000;
const SERVICE_START_MS = 90_000;
const SERVICE_GRACE_MS = 31_000;
const PART_GRACE_MS = 15_000;
/** The launcher's servers; their lines go to their log files only. */
const PARTS = new Set(['postgres', 'nats-server']);

/** The part of the launcher's environment that a server may see. @param {Record<string, string>} [more] */
function bareEnvironment(more = {}) {
  return { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC', ...more };
}

export class Cluster {
  /** @type {Keeper[]} */
  #keepers = [];
  #state = 'starting';
  #recordDue = false;
  #postgresUrl = givenSecret('DATABASE_URL');
  #natsUrl = givenSecret('NATS_URL');
  /** @type {NatsDiskWatch | null} */
  #natsRoom = null;

  /**
   * @param {object} options
   * @param {ReturnType<import('./places.mjs').dataFolders>} options.folders
   * @param {import('./services.mjs').Service[]} options.services none: Postgres and NATS alone, without migrations
   * @param {(name: string, line: string) => void} options.onLine what to do with the lines of the services
   * @param {'pretty' | 'json'} options.logFormat
   */
  constructor({ folders, services, onLine, logFormat }) {
    this.folders = folders;
    this.services = services;
    this.logFormat = logFormat;
    this.watch = {
      onLine: (/** @type {string} */ name, /** @type {string} */ line) => {
        if (name === 'nats-server') this.#natsRoom?.read(line);
        if (!PARTS.has(name)) onLine(name, line);
      },
      onChange: () => this.#record(),
      tell: say,
    };
    for (const dir of [folders.data, folders.run, folders.logs]) mkdirSync(dir, { recursive: true });
    this.secrets = loadSecrets(folders.secrets);
  }

  /** Resolves when every process is ready. @returns {Promise<{ url: string, apiKey: string }>} `url` is empty without a gateway */
  async start() {
    await endLeftovers(this.folders.clusterFile);
    const ports = await this.#choosePorts();
    await Promise.all([this.#startPostgres(ports.postgres), this.#startNats(ports.nats)]);
    if (this.services.length > 0) {
      const browsers = await findBrowsers();
      await this.#migrate();
      await this.#startServices(ports.gateways, browsers);
    }
    this.#state = 'ready';
    this.#writeClusterFile();
    return { url: this.gatewayUrls[0] ?? '', apiKey: this.apiKey };
  }

  /** Addresses of the parts, credentials included. */
  get addresses() {
    return { postgres: this.#postgresUrl, nats: this.#natsUrl };
  }

  get apiKey() {
    const given = givenSecret('TROUPE_BOOTSTRAP_KEYS').split(',')[0]?.trim();
    return given ? given.slice(given.indexOf(':') + 1) : this.secrets.apiKey;
  }

  async #choosePorts() {
    const file = path.join(this.folders.data, 'ports.json');
    const remembered = readRecord(file) ?? {};
    const count = this.services.filter((service) => service.app === 'gateway').length;
    const gateways = count === 0 ? [] : [await this.#gatewayPort(remembered.gateway)];
    while (gateways.length < count) gateways.push(await choosePort(this.host));
    const postgres = await choosePort(LOOPBACK, remembered.postgres);
    const nats = await choosePort(LOOPBACK, remembered.nats);
    writeRecord(file, { gateway: gateways[0], postgres, nats });
    return { gateways, postgres, nats };
  }

  get host() {
    return process.env.HOST || LOOPBACK;
  }

  /** @param {number | undefined} remembered */
  async #gatewayPort(remembered) {
    const told = process.env.PORT;
    if (told && !/^\d{1,5}$/.test(told)) throw new StartFailure(`PORT is "${told}", which is not a port number.`);
    const port = Number(told || DEFAULT_PORT);
    if (port === 0) return choosePort(this.host, remembered === DEFAULT_PORT ? undefined : remembered);
    if (await isPortFree(port, this.host)) return port;
    throw new StartFailure(
      `Port ${port} on ${this.host}${told ? ' (from PORT)' : ', the default,'} is taken by another program. ` +
        'Choose another with PORT=<number>, or PORT=0 for any free one.',
    );
  }

  /** @param {Omit<import('./keeper.mjs').Recipe, 'logFile' | 'cwd'> & { cwd?: string }} recipe */
  #keep(recipe) {
    const logFile = path.join(this.folders.logs, `${recipe.name}.log`);
    const keeper = new Keeper({ cwd: root, ...recipe, logFile }, this.watch);
    this.#keepers.push(keeper);
    return keeper;
  }

  /** @param {number} port */
  async #startPostgres(port) {
    if (this.#postgresUrl !== '') return say('Postgres: the one of DATABASE_URL');
    const part = await preparePostgres({ dir: this.folders.postgres, port, password: this.secrets.postgresPassword });
    const { owner, door } = part;
    const launch = launchGuarded({ signal: 'INT', owner, door, isReady: () => isPostgresReady(port) });
    const keeper = this.#keep({
      name: 'postgres',
      command: part.command,
      args: part.args,
      cwd: '/',
      env: bareEnvironment(),
      graceMs: PART_GRACE_MS,
      launch: async (recipe) => {
        await clearStalePid(part.data);
        return launch(recipe);
      },
    });
    this.#postgresUrl = part.url;
    await keeper.start(PART_START_MS);
  }

  /** @param {number} port */
  async #startNats(port) {
    if (this.#natsUrl !== '') return say('NATS: the one of NATS_URL');
    const part = await prepareNats({ dir: this.folders.nats, port, password: this.secrets.natsPassword });
    const keeper = this.#keep({
      name: 'nats-server',
      command: part.command,
      args: part.args,
      cwd: '/',
      env: bareEnvironment({ GOMEMLIMIT: '256MiB', GOGC: '50' }),
      graceMs: PART_GRACE_MS,
      launch: launchGuarded({ signal: 'TERM', isReady: () => isNatsReady(port) }),
    });
    this.#natsUrl = part.url;
    const onRoom = () => keeper.renew('there is room on its disk again, but it writes no more');
    this.#natsRoom = new NatsDiskWatch({ dir: path.join(this.folders.nats, 'store'), onRoom });
    await keeper.start(PART_START_MS);
  }

  async #migrate() {
    const log = new LogFile(path.join(this.folders.logs, 'migrate.log'));
    const child = spawn(process.execPath, [path.join(root, 'dist/libs/persistence/src/migrate.main.js')], {
      cwd: root,
      env: { ...process.env, DATABASE_URL: this.#postgresUrl },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [child.stdout, child.stderr]) readLines(stream, (line) => log.write(line));
    const code = await new Promise((resolve) => child.once('close', resolve));
    log.close();
    if (code === 0) return;
    throw new StartFailure(['The migrations of the database failed:', ...log.lastLines().slice(-12)].join('\n    '));
  }

  /**
   * Without secrets: what stands in the environment of a process, other processes of its user can read. They are in files,
   * the operator's key in a folder of its own, since only gateways need it.
   *
   * @param {readonly string[]} secretNames
   */
  #serviceEnvironment(secretNames) {
    /** @type {Record<string, string>} */
    const secrets = Object.fromEntries(secretNames.map((name) => [name, givenSecret(name)]));
    secrets.DATABASE_URL = this.#postgresUrl;
    secrets.NATS_URL = this.#natsUrl;
    secrets.TROUPE_BOOTSTRAP_KEYS ||= `default:${this.secrets.apiKey}`;
    writeSecrets(this.#secretsOf('gateway'), secrets);
    writeSecrets(this.#secretsOf('others'), { ...secrets, ADMIN_KEY: '' });
    const inherited = { ...process.env };
    for (const name of secretNames) {
      delete inherited[name];
      delete inherited[`${name}_FILE`];
    }
    return {
      LOG_FORMAT: this.logFormat,
      ...inherited,
      TROUPE_DATA_DIR: this.folders.data,
      METRICS_PORT: '0',
      // glibc keeps an arena per thread otherwise, which doubles the memory of idle services.
      MALLOC_ARENA_MAX: process.env.MALLOC_ARENA_MAX ?? '2',
    };
  }

  /** @param {'gateway' | 'others'} whose */
  #secretsOf(whose) {
    return path.join(this.folders.run, 'secrets', whose);
  }

  /** @param {number[]} gatewayPorts @param {import('./parts/chromium.mjs').BrowserSettings} browsers */
  async #startServices(gatewayPorts, browsers) {
    const ports = [...gatewayPorts];
    const { SECRET_SETTINGS } = await import(
      pathToFileURL(path.join(root, 'dist/libs/config/src/secret-names.js')).href
    );
    const environment = this.#serviceEnvironment(SECRET_SETTINGS);
    const keepers = this.services.map(({ name, app, flags }) =>
      this.#keep({
        name,
        command: process.execPath,
        args: [...flags, path.join(root, `dist/apps/${app}/src/main.js`)],
        env: {
          ...environment,
          ...browsers,
          TROUPE_SECRETS_DIR: this.#secretsOf(app === 'gateway' ? 'gateway' : 'others'),
          ...(app === 'gateway' ? { PORT: String(ports.shift()) } : {}),
        },
        graceMs: SERVICE_GRACE_MS,
        launch: launchService,
      }),
    );
    const host = ['0.0.0.0', '::'].includes(this.host) ? LOOPBACK : this.host;
    this.gatewayUrls = gatewayPorts.map((port) => `http://${host.includes(':') ? `[${host}]` : host}:${port}`);
    await Promise.all(keepers.map((keeper) => keeper.start(SERVICE_START_MS)));
  }

  /** @type {string[]} */
  gatewayUrls = [];

  /** Several changes of one moment make one write. */
  #record() {
    if (this.#recordDue) return;
    this.#recordDue = true;
    setImmediate(() => {
      this.#recordDue = false;
      this.#writeClusterFile();
    });
  }

  #writeClusterFile() {
    if (this.#state === 'stopped') return;
    const apiKeyFile = path.join(this.folders.data, 'api-key');
    writeFileSync(apiKeyFile, `${this.apiKey}\n`, { mode: 0o600 });
    writeRecord(this.folders.clusterFile, {
      state: this.#state,
      url: this.gatewayUrls[0] ?? null,
      gateways: this.gatewayUrls,
      apiKeyFile,
      postgres: this.#postgresUrl,
      nats: this.#natsUrl,
      launcher: process.pid,
      processes: this.#keepers.map((keeper) => keeper.describe()),
    });
  }

  /** Drains and stops everything, in order. */
  async stop() {
    this.#state = 'stopping';
    this.#writeClusterFile();
    const isGateway = (/** @type {Keeper} */ keeper) => keeper.name.startsWith('gateway');
    const isPart = (/** @type {Keeper} */ keeper) => PARTS.has(keeper.name);
    await this.#stopAll(isGateway);
    await this.#stopAll((keeper) => !isGateway(keeper) && !isPart(keeper));
    await this.#stopAll((keeper) => keeper.name === 'nats-server');
    await this.#stopAll((keeper) => keeper.name === 'postgres');
    this.#forget();
  }

  /** @param {(keeper: Keeper) => boolean} isWanted */
  async #stopAll(isWanted) {
    await Promise.all(this.#keepers.filter(isWanted).map((keeper) => keeper.stop()));
  }

  /** Ends everything at once. Nothing is lost: the next start goes on from what Postgres and NATS hold. */
  kill() {
    for (const keeper of this.#keepers) keeper.kill();
    this.#forget();
  }

  #forget() {
    this.#state = 'stopped';
    rmSync(this.folders.clusterFile, { force: true });
    rmSync(path.join(this.folders.run, 'secrets'), { recursive: true, force: true });
  }
}
