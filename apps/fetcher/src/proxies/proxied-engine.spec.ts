import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ProxyLists } from '@troupe/contracts';
import { parseAllowList, Resolver } from '@troupe/egress';
import { Metrics } from '@troupe/observability';
import { EgressProxy } from './egress-proxy.js';
import { type EngineRequest, type FetchEngine } from '../http/engine.js';
import { GotEngine } from '../http/got.engine.js';
import { HttpEngine } from '../http/http.engine.js';
import {
  type DnsServer,
  type ProxyKind,
  type Site,
  startDns,
  startProxy,
  startSite,
  type TestProxy,
} from '@troupe/testing';
import { FetchCounts } from './fetch-counts.js';
import { ProxiedEngine } from './proxied-engine.js';
import { ProxyPools } from './proxy-pools.js';
import { engineRequest } from '../http/engine-request.fixture.js';

const TEAM = '00000000-0000-4000-8000-00000000000a';
const NO_SIGNAL = new AbortController().signal;

let site: Site;
let secure: Site;
let forbidden: Site;
let dns: DnsServer;
let egress: EgressProxy;
let exits: string[];
let warnings: { proxy: string }[];
const proxies: TestProxy[] = [];

const note: Parameters<typeof startSite>[0] = (request, response) => {
  exits.push(request.socket.remoteAddress ?? '');
  if (request.url === '/away') return response.writeHead(302, { location: '/there' }).end();
  response.writeHead(200, { 'content-type': 'text/plain' }).end('hello');
};

beforeEach(async () => {
  exits = [];
  warnings = [];
  site = await startSite(note);
  secure = await startSite(note, { tls: true });
  forbidden = await startSite(note, { host: '127.0.0.9' });
  dns = await startDns({ 'site.test': ['127.0.0.1'], 'inside.test': ['127.0.0.9'] });
  // Trust in the HTTPS proxy's certificate is a matter of the process: NODE_EXTRA_CA_CERTS, see test/e2e/proxies.spec.ts.
});

afterEach(async () => {
  await Promise.all([site.close(), secure.close(), forbidden.close(), egress?.close()]);
  await Promise.all(proxies.splice(0).map((proxy) => proxy.close()));
  dns.close();
});

async function proxy(kind: ProxyKind, exit: string, options: { answer?: number } = {}): Promise<TestProxy> {
  const started = await startProxy(kind, { exit, ...options });
  proxies.push(started);
  return started;
}

function engine(
  name: 'http' | 'got',
  installation: Partial<ProxyLists>,
  options: { lists?: ProxyLists; allowed?: string } = {},
): ProxiedEngine {
  const allow = parseAllowList(options.allowed ?? '127.0.0.1');
  const resolver = new Resolver({ servers: [dns.address], allow });
  egress = new EgressProxy(resolver);
  const inner: FetchEngine =
    name === 'http'
      ? new HttpEngine({ resolver, allow, identity: { userAgent: 'Troupe/test', contactUrl: null }, keepAliveMs: 1 })
      : new GotEngine({ resolver, allow, proxy: egress });
  const pools = new ProxyPools({
    installation: { basic: [], stealth: [], ...installation },
    listsOf: () => options.lists ?? null,
    resolver,
    log: { warn: (context) => void warnings.push(context as { proxy: string }) },
  });
  return new ProxiedEngine({ name, engine: inner, pools, counts: new FetchCounts(new Metrics('test')) });
}

function ask(url: string, options: Partial<EngineRequest> = {}): EngineRequest {
  return engineRequest(url, {
    timeoutMs: 15_000,
    maxBytes: 100_000,
    skipTlsVerification: true,
    team: TEAM,
    ...options,
  });
}

const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'no error',
    (error: { code?: unknown }) => error.code,
  );

for (const name of ['http', 'got'] as const) {
  describe(`the ${name} engine through a proxy`, () => {
    for (const kind of ['http', 'socks5'] as const) {
      it(`leaves by a ${kind} proxy that wants a password, which is told addresses and no names`, async () => {
        const { url, tunnels } = await proxy(kind, '127.0.0.21');
        const through = engine(name, { basic: [url] });
        const plain = await through.fetch(ask(`http://site.test:${site.port}/away`), NO_SIGNAL);
        expect(plain).toMatchObject({
          statusCode: 200,
          proxyUsed: 'basic',
          finalUrl: `http://site.test:${site.port}/there`,
        });
        const tls = await through.fetch(ask(`https://site.test:${secure.port}/`), NO_SIGNAL);
        expect(tls.statusCode).toBe(200);
        expect(new Set(exits)).toEqual(new Set(['127.0.0.21']));
        expect(new Set(tunnels)).toEqual(new Set([`127.0.0.1:${site.port}`, `127.0.0.1:${secure.port}`]));
        expect(site.headers[0]?.host).toBe(`site.test:${site.port}`);
      });
    }

    it('asks no proxy for an address that is forbidden', async () => {
      const unasked = await proxy('http', '127.0.0.21');
      const through = engine(name, { basic: [unasked.url] });
      for (const target of [`http://inside.test:${forbidden.port}/`, `http://127.0.0.9:${forbidden.port}/`])
        expect(await codeOf(through.fetch(ask(target), NO_SIGNAL))).toBe('SCRAPE_TARGET_FORBIDDEN');
      expect({ asked: unasked.connections, hits: forbidden.connections }).toEqual({ asked: 0, hits: 0 });
    });

    it('says that a site cannot be reached, and does not hold it against the proxy', async () => {
      const { url } = await proxy('socks5', '127.0.0.21');
      const gone = await startSite(note);
      await gone.close();
      const failed = codeOf(engine(name, { basic: [url] }).fetch(ask(`http://site.test:${gone.port}/`), NO_SIGNAL));
      expect(await failed).toBe('SCRAPE_SITE_ERROR');
      expect(warnings).toEqual([]);
    });

    it('lets another proxy take over from one that is gone', async () => {
      const gone = await proxy('http', '127.0.0.21');
      await gone.close();
      const { url } = await proxy('http', '127.0.0.22');
      const through = engine(name, { basic: [gone.url, url] });
      for (let page = 0; page < 4; page++)
        expect((await through.fetch(ask(`${site.origin}/${page}`), NO_SIGNAL)).statusCode).toBe(200);
      expect(new Set(exits)).toEqual(new Set(['127.0.0.22']));
      expect(warnings.map((warning) => warning.proxy)).toEqual([`http://127.0.0.1:${gone.port}`]);
    });
  });
}

describe('the choice of a proxy', () => {
  it('takes turns for pages on their own and stays with one for pages of a lane', async () => {
    const [a, b] = [await proxy('http', '127.0.0.21'), await proxy('http', '127.0.0.22')];
    const through = engine('http', { basic: [a.url, b.url] });
    for (let page = 0; page < 4; page++) await through.fetch(ask(`${site.origin}/${page}`), NO_SIGNAL);
    expect(exits.map((exit) => exits.filter((other) => other === exit).length)).toEqual([2, 2, 2, 2]);
    exits = [];
    for (let page = 0; page < 4; page++)
      await through.fetch(ask(`${site.origin}/${page}`, { contextKey: 'job:7' }), NO_SIGNAL);
    expect(new Set(exits).size).toBe(1);
  });

  it('leaves a proxy alone that refuses the password, until its rest is over', async () => {
    const locked = await proxy('http', '127.0.0.21');
    const { url } = await proxy('http', '127.0.0.22');
    const through = engine('http', { basic: [locked.url.replace('troupe:', 'stranger:'), url] });
    for (let page = 0; page < 5; page++) await through.fetch(ask(`${site.origin}/${page}`), NO_SIGNAL);
    expect(locked.rejected).toBe(1);
    expect(JSON.stringify(warnings)).not.toContain('stranger');
  });

  it('fails when none of the proxies can be used, and never goes out directly', async () => {
    const gone = await proxy('http', '127.0.0.21');
    await gone.close();
    const through = engine('http', { basic: [gone.url] });
    for (let page = 0; page < 2; page++)
      expect(await codeOf(through.fetch(ask(`${site.origin}/`), NO_SIGNAL))).toBe('SCRAPE_PROXY_SELECTION_ERROR');
    expect(site.connections).toBe(0);
  });

  it('takes a gateway error for the site’s and a refusal of the port for the proxy’s', async () => {
    const broken = await proxy('http', '127.0.0.21', { answer: 502 });
    const strict = await proxy('http', '127.0.0.21', { answer: 403 });
    const fetchBy = (url: string) => codeOf(engine('http', { basic: [url] }).fetch(ask(`${site.origin}/`), NO_SIGNAL));
    expect(await fetchBy(broken.url)).toBe('SCRAPE_SITE_ERROR');
    expect(await fetchBy(strict.url)).toBe('SCRAPE_PROXY_SELECTION_ERROR');
    expect(warnings).toEqual([]);
  });

  it('prefers a team’s own proxies, uses the basic ones for stealth without any, and goes out directly without all', async () => {
    const [ours, own] = [await proxy('http', '127.0.0.21'), await proxy('http', '127.0.0.22')];
    const lists = { basic: [own.url], stealth: [] };
    const page = ask(`${site.origin}/`);
    await engine('http', { basic: [ours.url] }, { lists }).fetch(page, NO_SIGNAL);
    await engine('http', { basic: [ours.url] }).fetch({ ...page, proxy: 'stealth' }, NO_SIGNAL);
    await engine('http', { stealth: [ours.url] }).fetch(page, NO_SIGNAL);
    expect(exits).toEqual(['127.0.0.22', '127.0.0.21', '127.0.0.1']);
  });

  it('refuses a team’s proxy at a private address that is not open to it; the operator’s may be there', async () => {
    const inside = await proxy('http', '127.0.0.21');
    const { url } = inside;
    const allowed = `127.0.0.1:${site.port}`;
    const lists = { basic: [url], stealth: [] };
    const own = engine('http', {}, { lists, allowed }).fetch(ask(`${site.origin}/`), NO_SIGNAL);
    expect(await codeOf(own)).toBe('SCRAPE_PROXY_SELECTION_ERROR');
    expect(inside.connections).toBe(0);
    await engine('http', { basic: [url] }, { allowed }).fetch(ask(`${site.origin}/`), NO_SIGNAL);
    expect(exits).toEqual(['127.0.0.21']);
  });
});
