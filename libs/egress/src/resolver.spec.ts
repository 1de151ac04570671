import dgram from 'node:dgram';
import net, { type AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { parseAllowList } from './allow-list.js';
import { Connector, pinnedLookup } from './connect.js';
import { Resolver } from './resolver.js';

type Answer = (asked: number) => { ttl: number; addresses: string[] } | 'nxdomain' | 'servfail' | 'silence';

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** A DNS server that knows one name and answers its A questions with `answer`. */
async function serveDns(answer: Answer): Promise<{ server: string; asked: () => number }> {
  const socket = dgram.createSocket('udp4');
  let asked = 0;
  socket.on('message', (query, peer) => {
    let end = 12;
    while (query.readUInt8(end) > 0) end += query.readUInt8(end) + 1;
    const isA = query.readUInt16BE(end + 1) === 1;
    if (isA) asked++;
    const result = answer(asked);
    if (result === 'silence') return;
    const head = Buffer.from(query.subarray(0, end + 5));
    const records = isA && typeof result === 'object' ? result.addresses.map((ip) => record(ip, result.ttl)) : [];
    head.writeUInt16BE(result === 'nxdomain' ? 0x8183 : result === 'servfail' ? 0x8182 : 0x8180, 2);
    head.writeUInt16BE(records.length, 6);
    head.writeUInt32BE(0, 8);
    socket.send(Buffer.concat([head, ...records]), peer.port, peer.address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  closers.push(() => socket.close());
  return { server: `127.0.0.1:${socket.address().port}`, asked: () => asked };
}

function record(ip: string, ttl: number): Buffer {
  const fixed = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...ip.split('.').map(Number)]);
  fixed.writeUInt32BE(ttl, 6);
  return fixed;
}

function resolverAt(server: string, allow = 'false', maxTtlMs?: number): Resolver {
  const resolver = new Resolver({ servers: [server], allow: parseAllowList(allow), maxTtlMs });
  closers.push(() => resolver.close());
  return resolver;
}

describe('the resolver', () => {
  it('drops the forbidden addresses of an answer and returns the others', async () => {
    const dns = await serveDns(() => ({ ttl: 60, addresses: ['127.0.0.1', '8.8.8.8', '10.0.0.1'] }));
    expect(await resolverAt(dns.server).resolve('mixed.test', 80)).toEqual(['8.8.8.8']);
  });

  it('refuses a name all of whose addresses are forbidden', async () => {
    const dns = await serveDns(() => ({ ttl: 60, addresses: ['127.0.0.1', '169.254.169.254'] }));
    const refused = resolverAt(dns.server).resolve('private.test', 80);
    await expect(refused).rejects.toMatchObject({ code: 'SCRAPE_TARGET_FORBIDDEN', retryable: false });
  });

  it('judges by the port, also from the cache', async () => {
    const dns = await serveDns(() => ({ ttl: 60, addresses: ['127.0.0.1'] }));
    const resolver = resolverAt(dns.server, '127.0.0.1:8080');
    expect(await resolver.resolve('app.test', 8080)).toEqual(['127.0.0.1']);
    await expect(resolver.resolve('app.test', 8081)).rejects.toMatchObject({ code: 'SCRAPE_TARGET_FORBIDDEN' });
    expect(dns.asked()).toBe(1);
  });

  it('asks once for callers at the same time, and again when the answer has expired', async () => {
    const dns = await serveDns(() => ({ ttl: 3600, addresses: ['8.8.8.8'] }));
    const resolver = resolverAt(dns.server, 'false', 50);
    await Promise.all([1, 2, 3].map(() => resolver.resolve('busy.test', 80)));
    expect(dns.asked()).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 80));
    await resolver.resolve('busy.test', 80);
    expect(dns.asked()).toBe(2);
  });

  it('tells a name that does not exist from a server that fails', async () => {
    const gone = await serveDns(() => 'nxdomain');
    const broken = await serveDns(() => 'servfail');
    const code = 'SCRAPE_DNS_RESOLUTION_ERROR';
    await expect(resolverAt(gone.server).resolve('no.test', 80)).rejects.toMatchObject({ code, retryable: false });
    await expect(resolverAt(broken.server).resolve('no.test', 80)).rejects.toMatchObject({ code, retryable: true });
  });

  it('stops waiting when the signal fires', async () => {
    const dns = await serveDns(() => 'silence');
    const started = performance.now();
    const waiting = resolverAt(dns.server).resolve('slow.test', 80, AbortSignal.timeout(50));
    await expect(waiting).rejects.toMatchObject({ name: 'TimeoutError' });
    expect(performance.now() - started).toBeLessThan(1_900);
  });

  it('answers literals and localhost without a query', async () => {
    const resolver = resolverAt('127.0.0.1:1', '127.0.0.1');
    expect(await resolver.resolve('127.0.0.1', 80)).toEqual(['127.0.0.1']);
    expect(await resolver.resolve('localhost', 80)).toEqual(['127.0.0.1']);
    expect(await resolver.resolve('[2606:4700::1111]', 80)).toEqual(['2606:4700::1111']);
    await expect(resolver.resolve('[::ffff:10.0.0.1]', 80)).rejects.toMatchObject({ code: 'SCRAPE_TARGET_FORBIDDEN' });
  });
});

describe('a checked connection', () => {
  it('goes to the address that was checked although the name answers differently a moment later', async () => {
    let hits = 0;
    const server = net.createServer((socket) => {
      hits++;
      socket.on('error', () => undefined).destroy();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closers.push(() => server.close());
    const { port } = server.address() as AddressInfo;
    const dns = await serveDns((asked) => ({ ttl: 0, addresses: [asked === 1 ? '127.0.0.1' : '127.0.0.3'] }));
    const resolver = resolverAt(dns.server, `127.0.0.1:${port}`, 0);
    const connector = new Connector({ resolver, verifyTls: true, timeoutMs: 2_000 });
    const target = { hostname: 'rebind.test', port, secure: false };
    (await connector.connect(target)).destroy();
    expect([hits, dns.asked()]).toEqual([1, 1]);
    await expect(connector.connect(target)).rejects.toMatchObject({ code: 'SCRAPE_TARGET_FORBIDDEN' });
    expect(hits).toBe(1);
  });

  it('never falls back to the system for a family that was not answered', () => {
    const lookup = pinnedLookup(['127.0.0.1']);
    lookup('x.test', { family: 6 }, (error) => expect(error?.code).toBe('ENOTFOUND'));
    lookup('x.test', { all: true }, (_error, all) => expect(all).toEqual([{ address: '127.0.0.1', family: 4 }]));
    expect.assertions(2);
  });
});
