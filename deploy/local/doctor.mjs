/** `npm start -- doctor`: looks at the running cluster, or at what the environment names. Installs and starts nothing but packages. */
import { spawn } from 'node:child_process';
import path from 'node:path';
import { EXIT, StartFailure } from './failure.mjs';
import { presentBrowsers } from './parts/chromium.mjs';
import { root } from './places.mjs';
import { buildSources, installPackages } from './prepare.mjs';
import { lockHolder, readRecord } from './records.mjs';

const PROGRAM = path.join(root, 'dist/apps/doctor/src/main.js');

/**
 * @param {import('./arguments.mjs').Arguments} args
 * @param {ReturnType<typeof import('./places.mjs').dataFolders>} folders
 * @returns {Promise<number>} exit code
 */
export async function runDoctor(args, folders) {
  await installPackages();
  if (args.build) await buildSources();
  const child = spawn(process.execPath, [PROGRAM, '--embedded', ...(args.json ? ['--json'] : [])], {
    cwd: process.cwd(),
    env: { ...process.env, ...environmentOf(folders) },
    stdio: 'inherit',
  });
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', resolve);
  });
  if (code === null) throw new StartFailure('The doctor was ended by a signal.', EXIT.interrupted);
  return code;
}

/** Addresses in the environment win, as they do at a start. @param {ReturnType<typeof import('./places.mjs').dataFolders>} folders */
function environmentOf(folders) {
  const running = lockHolder(folders.lockFile) === null ? null : readRecord(folders.clusterFile);
  return {
    TROUPE_DATA_DIR: folders.data,
    ...(process.env.DATABASE_URL || !running?.postgres ? {} : { DATABASE_URL: running.postgres }),
    ...(process.env.NATS_URL || !running?.nats ? {} : { NATS_URL: running.nats }),
    ...presentBrowsers(),
  };
}
