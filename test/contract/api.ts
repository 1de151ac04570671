/**
 * Black-box calls to a gateway: the one that `TROUPE_TEST_URL` and `TROUPE_TEST_KEY` name, else a cluster of the suite's
 * own that may fetch from 127.0.0.1 only and knows no host name.
 */
import { afterAll, beforeAll } from '@jest/globals';
import { startDns, type DnsServer } from '../../apps/fetcher/src/engines/loopback.fixture.js';
import { ApiClient, type Answer, type CallOptions } from '../support/api-client.js';
import { startCluster, type TestCluster } from '../support/cluster.js';

const START_TIMEOUT_MS = 120_000;
let client: ApiClient | null = null;

/** Call it once at the top of a spec file. */
export function useGateway(): void {
  const { TROUPE_TEST_URL: url, TROUPE_TEST_KEY: key } = process.env;
  if (url && key) {
    client = new ApiClient(url.replace(/\/+$/, ''), key);
    return;
  }
  let dns: DnsServer | null = null;
  let cluster: TestCluster | null = null;
  beforeAll(async () => {
    dns = await startDns({});
    cluster = await startCluster({ env: { ALLOW_PRIVATE_TARGETS: '127.0.0.1', DNS_SERVERS: dns.address } });
    client = new ApiClient(cluster.url, cluster.apiKey);
  }, START_TIMEOUT_MS);
  afterAll(async () => {
    await cluster?.stop();
    dns?.close();
  }, START_TIMEOUT_MS);
}

export function api(): ApiClient {
  if (client === null) throw new Error('useGateway() was not called, or its cluster did not start');
  return client;
}

export const call = (path: string, options?: CallOptions): Promise<Answer> => api().call(path, options);

export const post = (path: string, json: unknown, headers?: Record<string, string>): Promise<Answer> =>
  api().post(path, json, headers);
