/** The installation as its settings describe it, as far as they are usable. */
import { ConfigError, readConfig, type TroupeConfig } from '@troupe/config';
import { failure, fine, type Finding } from './finding.js';

export interface Installation {
  config: Readonly<TroupeConfig>;
  /** Settings that were made: an address that is missing here is only a stand-in in `config`. */
  isSet(name: 'DATABASE_URL' | 'NATS_URL'): boolean;
  /** Addresses may be missing: `npm start` brings its own Postgres and NATS. */
  isEmbedded: boolean;
  /** Wall clock in ms. */
  now(): number;
}

type Environment = Record<string, string | undefined>;

/** No server listens there. The checks never connect to it, because `isSet` is false. */
const STAND_INS = { DATABASE_URL: 'postgresql://127.0.0.1:1/none', NATS_URL: 'nats://127.0.0.1:1' };

/** Reads the settings. Bad ones are reported, and left at their defaults for the other checks. */
export function readInstallation(
  environment: Environment,
  { isEmbedded, now = Date.now }: { isEmbedded: boolean; now?: () => number },
): { installation: Installation; findings: Finding[] } {
  const stood = { ...environment };
  for (const [name, standIn] of Object.entries(STAND_INS)) if (isEmbedded && !stood[name]) stood[name] = standIn;
  const problems = problemsOf(stood);
  for (const problem of problems) for (const name of namesIn(problem)) delete stood[name];
  const config = readConfig({ ...STAND_INS, ...definedOf(stood) });
  const installation: Installation = {
    config,
    isSet: (name) => Boolean(environment[name]) && stood[name] === environment[name],
    isEmbedded,
    now,
  };
  return { installation, findings: report(problems) };
}

function report(problems: readonly string[]): Finding[] {
  if (problems.length === 0) return [fine('configuration', 'every setting is usable')];
  return problems.map((problem) =>
    failure('configuration', problem, 'Correct it; .env.example explains every setting.'),
  );
}

function problemsOf(environment: Environment): string[] {
  try {
    readConfig(environment);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

/** `A_B: …` or `A_B and C_D: …`. */
function namesIn(problem: string): string[] {
  return problem.slice(0, problem.indexOf(':')).split(' and ');
}

const definedOf = (environment: Environment): Environment =>
  Object.fromEntries(Object.entries(environment).filter(([, value]) => value));
