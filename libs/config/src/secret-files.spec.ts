import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ConfigError, readConfig } from './read-config.js';
import { secretsInEnvironment } from './secret-names.js';

const ADDRESSES = { DATABASE_URL: 'postgresql://127.0.0.1/x', NATS_URL: 'nats://127.0.0.1' };
let folder: string;
const file = (name: string, text: string): string => {
  writeFileSync(path.join(folder, name), text);
  return path.join(folder, name);
};
function problemsOf(env: Record<string, string>): string[] {
  try {
    readConfig(env);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'troupe-secrets-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('secrets', () => {
  it('may each come in a file of its own, without the line end at its end', () => {
    const DATABASE_URL_FILE = file('database', 'postgresql://u:p@127.0.0.1/y\n');
    const config = readConfig({ NATS_URL: ADDRESSES.NATS_URL, DATABASE_URL_FILE });
    expect(config.databaseUrl).toBe('postgresql://u:p@127.0.0.1/y');
  });

  it('may all come in one folder, where the environment says nothing else', () => {
    file('DATABASE_URL', 'postgresql://127.0.0.1/folder');
    file('ADMIN_KEY', 'k'.repeat(20));
    file('HOST_GAP_MS', '7');
    const config = readConfig({ ...ADDRESSES, TROUPE_SECRETS_DIR: folder });
    expect(config).toMatchObject({ databaseUrl: ADDRESSES.DATABASE_URL, adminKey: 'k'.repeat(20), hostGapMs: 100 });
  });

  it('in a file that is not there, or beside a value, stop the start without being shown', () => {
    const ADMIN_KEY = 'secret-0123456789';
    const missing = path.join(folder, 'missing');
    const problems = problemsOf({ ...ADDRESSES, ADMIN_KEY, ADMIN_KEY_FILE: missing, LLM_API_KEY_FILE: missing });
    expect(problems).toEqual([
      'ADMIN_KEY and ADMIN_KEY_FILE: only one of them can be set',
      `LLM_API_KEY_FILE: ${missing} cannot be read (ENOENT)`,
    ]);
  });

  it('in the environment itself are found there', () => {
    expect(secretsInEnvironment({ ...ADDRESSES, PORT: '1', AWS_SECRET_ACCESS_KEY: 'x', ADMIN_KEY: '' })).toEqual([
      'DATABASE_URL',
      'NATS_URL',
      'AWS_SECRET_ACCESS_KEY',
    ]);
  });
});
