/**
 * Secrets that come in files: `<NAME>_FILE` names the file of one, `TROUPE_SECRETS_DIR` a folder with files of those names. The
 * environment of a process can be read by every other process of its user, for as long as it runs; a file need not be.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { SECRET_SETTINGS } from './secret-names.js';

type Environment = Record<string, string | undefined>;

export interface WithSecrets {
  /** The given environment, with the contents of the files. */
  env: Environment;
  /** A sentence for each file that cannot be used. */
  problems: string[];
}

/** The environment's own value wins over the folder; beside a file of its own it is a mistake. */
export function withSecretFiles(given: Environment): WithSecrets {
  const env = { ...given };
  const problems: string[] = [];
  const take = (name: string, source: string, file: string, mustExist: boolean): void => {
    try {
      env[name] = readFileSync(file, 'utf8').replace(/\r?\n$/, '');
    } catch (error) {
      const { code = 'unknown error' } = error as NodeJS.ErrnoException;
      if (mustExist || code !== 'ENOENT') problems.push(`${source}: ${file} cannot be read (${code})`);
    }
  };
  for (const name of SECRET_SETTINGS) {
    const file = given[`${name}_FILE`];
    if (file && given[name]) problems.push(`${name} and ${name}_FILE: only one of them can be set`);
    else if (file) take(name, `${name}_FILE`, file, true);
    else if (!given[name] && given.TROUPE_SECRETS_DIR)
      take(name, 'TROUPE_SECRETS_DIR', path.join(given.TROUPE_SECRETS_DIR, name), false);
  }
  return { env, problems };
}
