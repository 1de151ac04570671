/** What can be said of the chart and the dashboards without a cluster to put them in. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { workspace } from '../support/cluster.js';

const read = (file: string) => readFileSync(path.join(workspace, file), 'utf8');
const keysOf = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, key]) => key!).sort();

/** Of one machine, or set by the chart itself where the values say nothing. */
const NOT_OF_A_CLUSTER = [
  'PORT',
  'HOST',
  'TROUPE_DATA_DIR',
  'TROUPE_SECRETS_DIR',
  'TROUPE_CACHE_DIR',
  'METRICS_PORT',
  'CHROMIUM_PATH',
  'CHROMIUM_SHELL_PATH',
  'FETCHER_CLASSES',
];

interface Schema {
  $ref?: string;
  properties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
}
type Defs = Record<string, Schema>;

/** Paths of values that the schema does not name. */
function unknownTo(schema: Schema, values: unknown, defs: Defs, prefix = ''): string[] {
  const { properties, additionalProperties } = schema.$ref ? defs[schema.$ref.replace('#/$defs/', '')]! : schema;
  if (typeof values !== 'object' || values === null || properties === undefined) return [];
  return Object.entries(values).flatMap(([key, value]) => {
    const known = properties[key];
    if (known === undefined) return additionalProperties === false ? [`${prefix}${key}`] : [];
    return unknownTo(known, value, defs, `${prefix}${key}.`);
  });
}

describe('the chart', () => {
  it('has every setting of .env.example once, as a value or as a secret', () => {
    const settings = keysOf(read('.env.example'), /^([A-Z][A-Z0-9_]*)=/gm).filter(
      (key) => !NOT_OF_A_CLUSTER.includes(key),
    );
    const values = keysOf(read('helm/troupe/values.yaml'), /^ {2,4}([A-Z][A-Z0-9_]*):/gm).filter(
      (key) => !NOT_OF_A_CLUSTER.includes(key),
    );
    expect(values).toEqual(settings);
  });

  it('explains its values, and knows their settings in its schema', () => {
    const checked = spawnSync(process.execPath, ['helm/build.mjs', '--check'], { cwd: workspace, encoding: 'utf8' });
    expect(checked).toMatchObject({ status: 0, stderr: '' });
  });

  it('knows every value, and no other, in its schema', () => {
    const { properties, $defs } = JSON.parse(read('helm/troupe/values.schema.json')) as Schema & { $defs: Defs };
    expect(
      unknownTo({ properties, additionalProperties: false }, parse(read('helm/troupe/values.yaml')), $defs),
    ).toEqual([]);
    const misspelt = { roles: { gateway: { autoscaling: { min: 1 } } }, image: { tags: '' } };
    expect(unknownTo({ properties, additionalProperties: false }, misspelt, $defs)).toEqual([
      'roles.gateway.autoscaling.min',
      'image.tags',
    ]);
  });
});

describe('the dashboards and alerts', () => {
  it('are those that the code makes, in Grafana’s folder and in the chart', () => {
    const checked = spawnSync(process.execPath, ['deploy/grafana/build.mjs', '--check'], {
      cwd: workspace,
      encoding: 'utf8',
    });
    expect(checked.stderr).toBe('');
    expect(checked.status).toBe(0);
  });

  it('have a page to read for every alert', () => {
    const pages = keysOf(read('deploy/prometheus/alerts.yaml'), /runbook_url: (\S+)/g);
    expect(pages.length).toBeGreaterThan(10);
    for (const page of pages)
      expect({ page, exists: existsSync(path.join(workspace, page)) }).toEqual({ page, exists: true });
  });
});

describe('the entry point of the image', () => {
  const run = (...words: string[]) =>
    spawnSync(process.execPath, ['deploy/image/troupe.mjs', ...words], { cwd: workspace, encoding: 'utf8' });

  it('explains itself, and refuses what is no role', () => {
    expect(run('--help')).toMatchObject({ status: 0, stdout: expect.stringContaining('gateway, scheduler, fetcher') });
    expect(run('cook')).toMatchObject({ status: 64, stderr: expect.stringContaining('unknown role: cook') });
  });

  it('hands over to the role, whose settings are checked', () => {
    const env = { ...process.env, DATABASE_URL: '', NATS_URL: '', PORT: 'none' };
    const started = spawnSync(process.execPath, ['deploy/image/troupe.mjs', 'gateway'], {
      cwd: workspace,
      env,
      encoding: 'utf8',
    });
    expect(started.status).toBe(78);
    expect(started.stderr).toContain('PORT');
    const migrated = spawnSync(process.execPath, ['deploy/image/troupe.mjs', 'migrate'], {
      cwd: workspace,
      env,
      encoding: 'utf8',
    });
    expect(migrated.stderr).toContain('Set DATABASE_URL');
  });
});
