import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { configFields, environmentName, readConfig } from './read-config.js';

/** Read by `deploy/local` alone. */
const LAUNCHER_ONLY = ['TROUPE_CACHE_DIR'];
const text = readFileSync('.env.example', 'utf8');
const entries = new Map([...text.matchAll(/^([A-Z_0-9]+)=(.*)$/gm)].map((match) => [match[1] ?? '', match[2] ?? '']));

describe('.env.example', () => {
  it('lists every setting and no other', () => {
    expect([...entries.keys()].sort()).toEqual([...configFields().map(environmentName), ...LAUNCHER_ONLY].sort());
  });

  it('shows the true default of every setting', () => {
    const addresses = { DATABASE_URL: 'postgresql://127.0.0.1/x', NATS_URL: 'nats://127.0.0.1' };
    expect(readConfig({ ...Object.fromEntries(entries), ...addresses })).toEqual(readConfig(addresses));
  });
});
