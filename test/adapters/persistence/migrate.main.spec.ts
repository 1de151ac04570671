import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { emptyDatabase } from './database.js';

const MAIN = fileURLToPath(new URL('../../../libs/persistence/src/migrate.main.js', import.meta.url));
let database: { url: string; drop(): Promise<void> };

beforeAll(async () => {
  database = await emptyDatabase();
});
afterAll(() => database.drop());

function run(databaseUrl: string): Promise<{ code: number | null; out: string; err: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [MAIN], { env: { ...process.env, DATABASE_URL: databaseUrl } });
    let [out, err] = ['', ''];
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, out, err }));
  });
}

describe('the migrate program', () => {
  it('says what it applied, and the second time that there is nothing to do', async () => {
    const out = expect.stringMatching(/^applied InitialSchema1763683200000\n(applied \w+\n)*$/);
    expect(await run(database.url)).toEqual({ code: 0, out, err: '' });
    expect(await run(database.url)).toEqual({ code: 0, out: 'the database is up to date\n', err: '' });
  });

  it.each([
    ['', 'Set DATABASE_URL'],
    ['postgres://nobody@127.0.0.1:1/none', 'start it, or correct host and port'],
  ])('fails for %j with a sentence that says how to mend it', async (url, advice) => {
    const { code, err } = await run(url);
    expect(code).toBe(1);
    expect(err).toContain(advice);
    expect(err.trim().split('\n')).toHaveLength(1);
  });

  it('names a database that does not exist', async () => {
    const { code, err } = await run(database.url.replace(/\w+$/, 'no_such_database'));
    expect(code).toBe(1);
    expect(err).toContain('create it with createdb');
  });
});
