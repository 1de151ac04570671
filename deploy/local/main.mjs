import { readFileSync } from 'node:fs';
import { parseAdmin, runAdmin } from './admin.mjs';
import { HELP, parseArguments } from './arguments.mjs';
import { runDoctor } from './doctor.mjs';
import { EXIT, StartFailure } from './failure.mjs';
import { runJob } from './jobs.mjs';
import { dataFolders } from './places.mjs';
import { buildSources, installPackages } from './prepare.mjs';
import { lockHolder, readRecord, takeLock } from './records.mjs';
import { say } from './say.mjs';
import { listServices } from './services.mjs';
import { Cluster } from './supervisor.mjs';

/** npm passes a signal on that the terminal has already sent: one that comes this soon is the same signal. */
const SAME_WISH_MS = 700;

/** @param {string[]} argv */
export async function main(argv) {
  try {
    process.exit(argv[0] === 'admin' ? await runAdminCommand(argv.slice(1)) : await runCommand(parseArguments(argv)));
  } catch (error) {
    if (!(error instanceof StartFailure)) throw error;
    say(error.message.replaceAll('\n', '\ntroupe    | '));
    process.exit(error.exitCode);
  }
}

/** @param {import('./arguments.mjs').Arguments} args @returns {Promise<number>} exit code */
async function runCommand(args) {
  if (args.help) {
    process.stdout.write(`${HELP}\n`);
    return EXIT.ok;
  }
  const folders = dataFolders(args.dataDir);
  if (args.command === 'start') return runCluster(args, folders);
  if (args.command === 'doctor') return runDoctor(args, folders);
  const running = findRunning(folders);
  if (running !== null) return runJob(args, running);
  return runJobOnOwnCluster(args, folders);
}

/** @param {string[]} argv what follows `admin` @returns {Promise<number>} exit code */
async function runAdminCommand(argv) {
  const command = parseAdmin(argv);
  const running = command.url === null ? findRunning(dataFolders(command.dataDir)) : { url: command.url };
  return runAdmin(command, running?.url ?? null);
}

/** @param {ReturnType<typeof dataFolders>} folders */
function findRunning(folders) {
  if (lockHolder(folders.lockFile) === null) return null;
  const record = readRecord(folders.clusterFile);
  if (record?.state !== 'ready') return null;
  return { url: record.url, apiKey: readFileSync(record.apiKeyFile, 'utf8').trim() };
}

/**
 * Sets up and starts a cluster, hands it to `use`, and stops it afterwards, whatever happens.
 *
 * @param {import('./arguments.mjs').Arguments} args
 * @param {ReturnType<typeof dataFolders>} folders
 * @param {(name: string, line: string) => void} onLine
 * @param {(running: { url: string, apiKey: string }, stopped: Promise<void>) => Promise<number>} use
 * @returns {Promise<number>}
 */
async function withCluster(args, folders, onLine, use) {
  const unlock = takeLock(folders);
  const logFormat = process.stderr.isTTY && !args.json ? 'pretty' : 'json';
  /** @type {Cluster | null} */
  let cluster = null;
  const signal = listenForSignals(() => cluster?.kill());
  try {
    await Promise.race([prepare(args), signal.stopped]);
    if (signal.isStopped()) return EXIT.interrupted;
    cluster = new Cluster({ folders, services: listServices(args.replicas), onLine, logFormat });
    const running = await Promise.race([startOrFail(cluster), signal.stopped]);
    if (running === undefined) return EXIT.interrupted;
    return await use(running, signal.stopped);
  } finally {
    await cluster?.stop();
    unlock();
  }
}

/** @param {import('./arguments.mjs').Arguments} args */
async function prepare(args) {
  await installPackages();
  if (args.build) await buildSources();
}

/** @param {Cluster} cluster */
async function startOrFail(cluster) {
  try {
    return await cluster.start();
  } catch (error) {
    throw error instanceof StartFailure
      ? error
      : new StartFailure(error instanceof Error ? error.message : String(error));
  }
}

/**
 * The first signal asks for an end in good order, the second one ends everything at once. Under npm the end of npm
 * counts as a signal, too.
 *
 * @param {() => void} kill
 */
function listenForSignals(kill) {
  let firstMs = 0;
  /** @type {() => void} */
  let stop = () => undefined;
  const stopped = /** @type {Promise<void>} */ (new Promise((resolve) => (stop = resolve)));
  const onSignal = (/** @type {string} */ reason) => {
    const nowMs = performance.now();
    if (firstMs === 0) {
      firstMs = nowMs;
      say(`${reason}: stopping; once more to stop at once`);
      stop();
    } else if (nowMs - firstMs > SAME_WISH_MS) {
      say('killing everything');
      kill();
      process.exit(EXIT.interrupted);
    }
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => onSignal(signal));
  process.on('disconnect', () => firstMs === 0 && onSignal('the parent is gone'));
  const parent = process.ppid;
  if (process.env.npm_lifecycle_event !== undefined) {
    setInterval(() => process.ppid !== parent && firstMs === 0 && onSignal('npm is gone'), 1_000).unref();
  }
  return { stopped, isStopped: () => firstMs !== 0 };
}

/** @param {import('./arguments.mjs').Arguments} args @param {ReturnType<typeof dataFolders>} folders */
async function runCluster(args, folders) {
  const startedMs = performance.now();
  const output = args.json ? process.stderr : process.stdout;
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  const onLine = (/** @type {string} */ name, /** @type {string} */ line) =>
    output.write(`${name.padEnd(11)}| ${line}\n`);
  return withCluster(args, folders, onLine, async ({ url, apiKey }, stopped) => {
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
    if (args.json) process.stdout.write(`${JSON.stringify({ ready: true, url, apiKey })}\n`);
    else process.stdout.write(welcome(url, apiKey, folders, seconds));
    await stopped;
    return EXIT.ok;
  });
}

/** @param {string} url @param {string} apiKey @param {ReturnType<typeof dataFolders>} folders @param {string} seconds */
function welcome(url, apiKey, folders, seconds) {
  return `
Troupe is ready after ${seconds} s.

  Address   ${url}
  API key   ${apiKey}
  Logs      ${folders.logs}

Try it:

  curl -s ${url}/v2/scrape \\
    -H 'Authorization: Bearer ${apiKey}' \\
    -H 'Content-Type: application/json' \\
    -d '{"url":"https://example.com","formats":["markdown"]}'

Ctrl-C stops everything.

`;
}

/** @param {import('./arguments.mjs').Arguments} args @param {ReturnType<typeof dataFolders>} folders */
async function runJobOnOwnCluster(args, folders) {
  say(`no cluster runs on ${folders.data}: starting one for this job`);
  const onLine = () => undefined;
  return withCluster(args, folders, onLine, (running, stopped) =>
    Promise.race([runJob(args, running), stopped.then(() => EXIT.interrupted)]),
  );
}
