import { afterEach, describe, expect, it } from '@jest/globals';
import type { Server } from 'node:http';
import { Dependencies, Health, serveHealth } from './health.js';
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
    for (const path of ['/health/liveness', '/health/live']) expect((await get(path)).status).toBe(200);
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
    const answers = await new Dependencies({ slow: () => new Promise<void>(() => undefined) }, 20).ask();
    expect(answers).toMatchObject({ slow: { status: 'down', error: 'no answer within 20 ms' } });
  });

  it('stays ready without what is optional, and says so', async () => {
    const health = new Health('fetcher', 'fetcher-1');
    health.running({ nats: up, browser: { optional: () => Promise.reject(new Error('none installed')) } });
    expect(await (await served(health))('/health/ready')).toMatchObject({
      status: 200,
      body: { status: 'degraded', checks: { browser: { status: 'down', optional: true, error: 'none installed' } } },
    });
  });

  it('asks a dependency once for all who want to know within a second, and tells the age of the answer', async () => {
    let asked = 0;
    const dependencies = new Dependencies({ bus: async () => void asked++ });
    await Promise.all([dependencies.ask(), dependencies.ask()]);
    await new Promise((resolve) => setTimeout(resolve, 60));
    const { bus } = await dependencies.ask();
    expect(asked).toBe(1);
    expect(bus!.ageMs).toBeGreaterThanOrEqual(50);
    expect(bus!.forMs).toBeGreaterThanOrEqual(bus!.ageMs);
  });

  it('repeats no credentials of a failure, and the parts of one that has only parts', async () => {
    const parts = new AggregateError([new Error('connect to postgres://me:secret@db refused'), new Error('other')], '');
    const { db } = await new Dependencies({ db: () => Promise.reject(parts) }).ask();
    expect(db!.error).toBe('connect to postgres://[redacted]@db refused; other');
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
