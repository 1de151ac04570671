/** What is set for a host is one list: the table, the calls and the documents have what it has, and nothing else. */
import { HOST_SETTINGS, type HostSettingRule } from '@troupe/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { workspace } from '../../support/cluster.js';
import { testDatabase, type TestDatabase } from './database.js';

const RULES = Object.entries<HostSettingRule>(HOST_SETTINGS);
const NAMES = RULES.map(([name]) => name);
const COLUMN_TYPES = { delay: 'text', boolean: 'boolean', text: 'text' };

const read = (file: string): string => readFileSync(path.join(workspace, file), 'utf8');

function columnOf([name, rule]: [string, HostSettingRule]): [string, string] {
  const column = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  if (rule.type !== 'number') return [column, COLUMN_TYPES[rule.type]];
  return [column, rule.integer === false ? 'double precision' : 'integer'];
}

/** What a call takes; null: not set. */
function takenOf(rule: HostSettingRule): object {
  if (rule.type === 'boolean') return { type: ['boolean', 'null'] };
  if (rule.type === 'text') return { type: ['string', 'null'], maxLength: rule.maxLength };
  if (rule.type === 'delay')
    return { anyOf: [{ const: 'obey' }, { type: 'number', minimum: rule.min, maximum: rule.max }, { type: 'null' }] };
  const { integer, min, above, max } = rule;
  const type = [integer === false ? 'number' : 'integer', 'null'];
  return { type, minimum: min, exclusiveMinimum: above, maximum: max };
}

function boundsOf(rule: HostSettingRule): string {
  if (rule.type === 'boolean') return '`true`, `false`';
  if (rule.type === 'text') return `up to ${rule.maxLength} characters`;
  if (rule.type === 'delay') return `\`obey\`, ${rule.min} … ${rule.max} ${rule.unit}`;
  const least = rule.above === undefined ? `${rule.min}` : `above ${rule.above}`;
  return `${least} … ${rule.max} ${rule.unit}`;
}

describe('settings of a host', () => {
  let db: TestDatabase;

  beforeAll(async () => {
    db = await testDatabase();
  });
  afterAll(() => db.drop());

  it('have a column each', async () => {
    const { rows } = await db.pool.query<{ column_name: string; data_type: string }>(
      `SELECT column_name, data_type FROM information_schema.columns
       WHERE table_name = 'host_setting' AND column_name NOT IN ('pattern', 'updated_at')`,
    );
    const columns = Object.fromEntries(rows.map(({ column_name, data_type }) => [column_name, data_type]));
    expect(columns).toEqual(Object.fromEntries(RULES.map(columnOf)));
  });

  it('are what the calls of the operator take and answer', () => {
    const { schemas } = (
      JSON.parse(read('docs/openapi.json')) as {
        components: { schemas: Record<string, { properties: object }> };
      }
    ).components;
    expect(schemas.HostSettingBody!.properties).toEqual(
      Object.fromEntries(RULES.map(([name, rule]) => [name, takenOf(rule)])),
    );
    expect(Object.keys(schemas.HostSetting!.properties)).toEqual(['pattern', ...NAMES]);
  });

  it('stand in a table of the documents', () => {
    const rows = read('docs/running.md')
      .split('\n')
      .filter((line) => line.startsWith('| `'))
      .map((line) => line.replace(/\s+/g, ' '));
    const table = RULES.map(([name, rule]) => `| \`${name}\` | ${boundsOf(rule)} | ${rule.text} |`);
    const begin = rows.indexOf(table[0]!);
    expect(rows.slice(begin, begin + table.length)).toEqual(table);
  });
});
