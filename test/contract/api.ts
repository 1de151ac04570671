/**
 * Black-box calls to a gateway: the one that `TROUPE_TEST_URL` and `TROUPE_TEST_KEY` name, else a cluster of their
 * own that may fetch from 127.0.0.1 only and knows no host name.
 */
import { afterAll, beforeAll } from '@jest/globals';
import { ApiClient, type Answer, type CallOptions } from '../support/api-client.js';
import { startStage, type Stage } from '../support/shared-stage.js';

const START_TIMEOUT_MS = 120_000;
let client: ApiClient | null = null;

/** Call it once at the top of a spec file. */
export function useGateway(): void {
  const { TROUPE_TEST_URL: url, TROUPE_TEST_KEY: key } = process.env;
  if (url && key) {
    client = new ApiClient(url.replace(/\/+$/, ''), key);
    return;
  }
  let stage: Stage | null = null;
  beforeAll(async () => {
    stage = await startStage({ ALLOW_PRIVATE_TARGETS: '127.0.0.1' });
    client = new ApiClient(stage.cluster.url, stage.cluster.apiKey);
  }, START_TIMEOUT_MS);
  afterAll(() => stage?.stop(), START_TIMEOUT_MS);
}

export function api(): ApiClient {
  if (client === null) throw new Error('useGateway() was not called, or its cluster did not start');
  return client;
}

export const call = (path: string, options?: CallOptions): Promise<Answer> => api().call(path, options);

export const post = (path: string, json: unknown, headers?: Record<string, string>): Promise<Answer> =>
  api().post(path, json, headers);
