/** Nobody who may read the audit log learns a part of a key from it: an admin key is named by eight digits of its hash. */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { query } from '../chaos/evidence.js';
import { ApiClient } from '../support/api-client.js';
import { startCluster, type TestCluster } from '../support/cluster.js';

const ADMIN_KEY = 'Qz7-kW93xhR_4tYb';
const KNOWN_PART = 4;

let cluster: TestCluster;

beforeAll(async () => {
  cluster = await startCluster({ env: { ADMIN_KEY, FETCHER_CLASSES: 'http' } });
}, 150_000);
afterAll(() => cluster?.stop(), 60_000);

/** Every run of characters of the key. */
function partsOf(key: string): string[] {
  return Array.from({ length: key.length - KNOWN_PART + 1 }, (_, i) => key.slice(i, i + KNOWN_PART));
}

it('the audit log names an admin key by its hash and holds no part of a key', async () => {
  const admin = new ApiClient(cluster.url, ADMIN_KEY);
  const { team } = (await admin.post('/admin/teams', { name: 'audited' })).body as { team: { id: string } };
  const { body: made } = await admin.post(`/admin/teams/${team.id}/keys`, { name: 'first' });
  const { text, body } = await admin.call('/admin/audit');
  const entries = body.entries as { actor: string; action: string }[];
  expect(entries.map(({ action }) => action)).toEqual(['key.create', 'team.create']);
  const digest = createHash('sha256').update(ADMIN_KEY).digest('hex');
  expect(entries.map(({ actor }) => actor)).toEqual([digest.slice(0, 8), digest.slice(0, 8)]);
  const stored = JSON.stringify(await query(cluster, 'SELECT * FROM admin_audit', []));
  for (const part of partsOf(ADMIN_KEY)) expect(text + stored).not.toContain(part);
  const secret = String(made.key).slice(3);
  for (let i = 0; i + 8 <= secret.length; i++) expect(text + stored).not.toContain(secret.slice(i, i + 8));
});
