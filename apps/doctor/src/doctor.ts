/** Checks everything an installation needs, each check within its time limit. */
import { hideCredentials } from '@troupe/observability';
import { checkBlobs } from './checks/blobs.js';
import { checkChromium } from './checks/chromium.js';
import { checkDisk, checkMemory, checkOpenFiles } from './checks/resources.js';
import { checkNames } from './checks/names.js';
import { checkNats } from './checks/nats.js';
import { checkPostgres } from './checks/postgres.js';
import { failure, reasonOf, type Finding } from './finding.js';
import { readInstallation, type Installation } from './installation.js';

interface Check {
  about: string;
  limitMs: number;
  run(installation: Installation): Promise<Finding[]>;
}

const CHECKS: readonly Check[] = [
  { about: 'postgres', limitMs: 25_000, run: checkPostgres },
  { about: 'nats', limitMs: 30_000, run: checkNats },
  { about: 'blob store', limitMs: 20_000, run: checkBlobs },
  { about: 'dns', limitMs: 15_000, run: checkNames },
  { about: 'disk', limitMs: 5_000, run: checkDisk },
  { about: 'open files', limitMs: 5_000, run: checkOpenFiles },
  { about: 'memory', limitMs: 5_000, run: checkMemory },
];

/**
 * Runs alone and last: a starting browser takes the whole machine, so that other checks would miss their time limits.
 */
const CHROMIUM: Check = { about: 'chromium', limitMs: 60_000, run: checkChromium };

export interface Circumstances {
  /** Addresses may be missing: `npm start` brings its own Postgres and NATS. */
  isEmbedded: boolean;
  /** Wall clock in ms. @default Date.now */
  now?: () => number;
}

/** Findings in the order of the checks, most of which run side by side. Never rejects; no finding tells a secret. */
export async function examine(
  environment: Record<string, string | undefined>,
  circumstances: Circumstances,
): Promise<Finding[]> {
  const { installation, findings } = readInstallation(environment, circumstances);
  const side = await Promise.all(CHECKS.map((check) => runInTime(check, installation)));
  const last = await runInTime(CHROMIUM, installation);
  return [...findings, ...side.flat(), ...last].map(withoutSecrets);
}

async function runInTime({ about, limitMs, run }: Check, installation: Installation): Promise<Finding[]> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Finding[]>((resolve) => {
    const found = `no answer within ${limitMs / 1000} s`;
    const mend = 'Something hangs: look at the network between here and there, and at the load of both.';
    timer = setTimeout(() => resolve([failure(about, found, mend)]), limitMs);
  });
  try {
    return await Promise.race([run(installation), late]);
  } catch (error) {
    return [failure(about, reasonOf(error), 'This should not have happened: please report it.')];
  } finally {
    clearTimeout(timer);
  }
}

function withoutSecrets(finding: Finding): Finding {
  const { found, mend } = finding;
  return { ...finding, found: hideCredentials(found), ...(mend === undefined ? {} : { mend: hideCredentials(mend) }) };
}
