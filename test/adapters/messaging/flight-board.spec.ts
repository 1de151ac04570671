/** Keys of pages under way, on a real server. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { BUCKETS } from '@troupe/contracts';
import { FlightBoard, NatsLink, type FlightClaim, type FlightHold, type FlightHolder } from '@troupe/messaging';
import { eventually } from './fixtures.js';
import { TestNatsServer } from './nats-server.js';

const LIFE_MS = 60_000;

describe('a page under way', () => {
  let server: TestNatsServer;
  let links: NatsLink[];
  let a: FlightBoard;
  let b: FlightBoard;

  beforeAll(async () => {
    server = await TestNatsServer.start();
    links = await Promise.all(['a', 'b'].map((name) => NatsLink.open({ server: { natsUrl: server.url }, name })));
    await Promise.all(links.map((link) => link.ensureTopology()));
    a = new FlightBoard(links[0]!, 'fetcher-a');
    b = new FlightBoard(links[1]!, 'fetcher-b');
  });
  afterAll(async () => {
    await Promise.all(links.map((link) => link.close()));
    await server.stop();
  });

  it('is fetched by one of all that ask at once; the others are told by whom', async () => {
    const boards = Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? a : b));
    const claims = await Promise.all(boards.map((board) => board.claim('at-once', LIFE_MS)));
    const winner = claims.findIndex((claim) => 'held' in claim);
    expect(claims.filter((claim) => 'held' in claim)).toHaveLength(1);
    const told = new Set(claims.flatMap((claim) => ('holder' in claim ? [claim.holder.fetcher] : [])));
    expect([...told]).toEqual([winner % 2 === 0 ? 'fetcher-a' : 'fetcher-b']);
  });

  it('is free again at once when it is given up, and nobody else gives it up', async () => {
    const hold = heldBy(await a.claim('freed', LIFE_MS));
    await a.free(hold);
    expect(await b.find('freed')).toBeNull();
    heldBy(await b.claim('freed', LIFE_MS));
    await a.free(hold);
    await a.keep(hold, 1_000);
    expect(await b.find('freed')).toMatchObject({ fetcher: 'fetcher-b' });
  });

  it('is taken over by one of those who saw its fetcher gone', async () => {
    heldBy(await a.claim('taken-over', LIFE_MS));
    const seen = holderOf(await b.claim('taken-over', LIFE_MS));
    const rivals = await Promise.all([b, b, b].map((board) => board.claim('taken-over', LIFE_MS, seen)));
    expect(rivals.filter((claim) => 'held' in claim)).toHaveLength(1);
  });

  it('is seized by what is newer, and the older one cannot disturb that', async () => {
    const older = heldBy(await a.claim('seized', LIFE_MS));
    await b.seize('seized', LIFE_MS);
    await a.keep(older, 1_000);
    expect(await a.find('seized')).toMatchObject({ fetcher: 'fetcher-b' });
  });

  it('is forgotten when its time is over, without a trace', async () => {
    const hold = heldBy(await a.claim('kept', LIFE_MS));
    await a.keep(hold, 1_000);
    expect(await b.find('kept')).toMatchObject({ fetcher: 'fetcher-a' });
    expect(await eventually(async () => (await b.find('kept')) === null)).toBeGreaterThan(300);
    const { state } = await links[0]!.jsm.streams.info(`KV_${BUCKETS.flight}`, { subjects_filter: '$KV.flight.kept' });
    expect(state.subjects ?? {}).toEqual({});
    heldBy(await b.claim('kept', LIFE_MS));
  });
});

function heldBy(claim: FlightClaim): FlightHold {
  if ('held' in claim) return claim.held;
  throw new Error(`held by ${claim.holder.fetcher}`);
}

function holderOf(claim: FlightClaim): FlightHolder {
  if ('holder' in claim) return claim.holder;
  throw new Error('it was free');
}
