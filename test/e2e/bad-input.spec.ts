/** Acceptance "Bad input": whatever callers and sites send has a precise answer, and the cluster is well afterwards. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiClient } from '../support/api-client.js';
import { startCluster, type ClusterProcess, type TestCluster } from '../support/cluster.js';
import { startBadSite, type BadSite } from './bad-site.fixture.js';

const SETUP_TIMEOUT_MS = 120_000;
let site: BadSite;
let cluster: TestCluster;
let api: ApiClient;

beforeAll(async () => {
  site = await startBadSite();
  cluster = await startCluster({
    env: {
      ALLOW_PRIVATE_TARGETS: site.allowed,
      DNS_SERVERS: site.dns.address,
      TROUPE_BOOTSTRAP_KEYS: 'other:fc-key-of-another-team',
      HOST_GAP_MS: '0',
      HOST_EXPRESS_CONN: '16',
      TEAM_CONCURRENCY: '20',
    },
  });
  api = new ApiClient(cluster.url, cluster.apiKey);
}, SETUP_TIMEOUT_MS);

afterAll(async () => {
  await cluster?.stop();
  await site?.close();
}, SETUP_TIMEOUT_MS);

describe('explore', () => {
  it('x', async () => {
    const { MISBEHAVIOURS } = await import('./bad-site.fixture.js');
    const out: string[] = [];
    for (const kind of Object.keys(MISBEHAVIOURS)) {
      const { status, body, ms } = await api.post('/v2/scrape', { url: site.url(kind), timeout: 5000 });
      const data = body.data as any;
      out.push(
        [
          kind,
          status,
          Math.round(ms),
          body.code,
          body.error,
          JSON.stringify(data?.markdown ?? '').slice(0, 80),
          data?.metadata?.statusCode,
        ].join(' | '),
      );
    }
    const { writeFileSync } = await import('node:fs');
    writeFileSync('/tmp/run/t5.explore', out.join('\n') + '\n' + cluster.output().slice(-5000));
  }, 300_000);
});
