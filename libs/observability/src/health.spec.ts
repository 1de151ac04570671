import { afterEach, describe, expect, it } from '@jest/globals';
import type { Server } from 'node:http';
import { askChecks, Health, serveHealth } from './health.js';
import { Metrics } from './metrics.js';

const servers: Server[] = [];
afterEach(() => servers.splice(0).forEach((server) => server.close()));

async function served(health: Health): Promise<(path: string) => Promise<{ status: number; body: unknown }>> {
  const { url, server } = await serveHealth({ health, metrics: new Metrics('test') }, 0, '127.0.0.1');
  servers.push(server);
  return async (path) => {
    const response = await fetch(`${url}${path}`);
    return { status: response.status, body: await response.json() };
  };
}

const up = async (): Promise<void> => undefined;

describe('health', () => {
  it('is alive but not ready while the service starts', async () => {
    const get = await served(new Health('gateway', 'gateway-1'));
    expect((await get('/health/liveness')).status).toBe(200);
    expect(await get('/health/readiness')).toMatchObject({ status: 503, body: { status: 'starting' } });
  });

  it('is ready when every dependency answers', async () => {
    const health = new Health('gateway', 'gateway-1');
    health.running({ postgres: up, nats: up });
    const answer = await (await served(health))('/health/readiness');
    expect(answer).toMatchObject({
      status: 200,
      body: {
        status: 'ok',
        service: 'gateway',
        instance: 'gateway-1',
        checks: { postgres: { status: 'up' }, nats: { status: 'up' } },
      },
    });
  });

  it('names the dependency that fails and why', async () => {
    const health = new Health('gateway', 'gateway-1');
    health.running({ postgres: up, nats: () => Promise.reject(new Error('connection refused')) });
    expect(await (await served(health))('/health/readiness')).toMatchObject({
      status: 503,
      body: {
        status: 'unavailable',
        checks: { postgres: { status: 'up' }, nats: { status: 'down', error: 'connection refused' } },
      },
    });
  });

  it('takes a dependency that does not answer for down', async () => {
    const answers = await askChecks({ slow: () => new Promise<void>(() => undefined) }, 20);
    expect(answers).toMatchObject({ slow: { status: 'down', error: 'no answer within 20 ms' } });
  });

  it('is not ready any more while it drains', async () => {
    const health = new Health('gateway', 'gateway-1');
    health.running({ postgres: up });
    health.draining();
    expect(await (await served(health))('/health/readiness')).toMatchObject({
      status: 503,
      body: { status: 'draining' },
    });
  });

  it('answers 404 elsewhere', async () => {
    expect((await (await served(new Health('g', 'g-1')))('/')).status).toBe(404);
  });
});
