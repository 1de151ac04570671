import { beforeEach, describe, expect, it } from '@jest/globals';
import { TroupeError, type ScrapeSpec } from '@troupe/contracts';
import type { FlightClaim, FlightHold, FlightHolder } from '@troupe/messaging';
import { setTimeout as sleep } from 'node:timers/promises';
import { metaOf } from './cached-page.js';
import { Flights, type Found, type FlightQuestion, type FlightWish, type OwnFlight } from './flights.js';
import { CACHED_SPEC } from './memory-cache.fixture.js';

const MB = 1024 * 1024;
const META = metaOf({ headers: {}, finalUrl: 'http://site.test/a', statusCode: 200, rendered: false } as never);

/** Keys in memory, and fetchers that hear each other. */
class Cluster {
  readonly keys = new Map<string, FlightHolder>();
  readonly lives: number[] = [];
  readonly fetchers = new Map<string, Flights>();
  readonly warnings: string[] = [];
  writes = 0;
  shared = 0;
  isAway = false;
  private revision = 0;

  join(fetcher: string): Flights {
    const board = {
      fetcher,
      claim: async (key: string, lifeMs: number, from: FlightHolder | null = null): Promise<FlightClaim> => {
        this.check();
        const stored = this.keys.get(key);
        if (stored !== undefined && stored.fetcher !== '' && stored.revision !== from?.revision)
          return { holder: stored };
        return { held: this.write(key, fetcher, lifeMs) };
      },
      seize: async (key: string, lifeMs: number) => {
        this.check();
        return this.write(key, fetcher, lifeMs);
      },
      find: async (key: string) => {
        this.check();
        const stored = this.keys.get(key);
        return stored === undefined || stored.fetcher === '' ? null : stored;
      },
      keep: async (hold: FlightHold, lifeMs: number) => {
        const { key, revision } = hold;
        if (this.keys.get(key)?.revision === revision) hold.revision = this.write(key, fetcher, lifeMs).revision;
      },
      free: async ({ key, revision }: FlightHold) => {
        if (this.keys.get(key)?.revision === revision) this.write(key, '', 1_000);
      },
    };
    const rpc = {
      call: async (subject: string, question: object) => {
        const asked = this.fetchers.get(subject.slice('flight.'.length));
        if (asked === undefined) throw new TroupeError('CONCURRENCY_QUEUE_TIMEOUT', 'no process listens');
        return (await asked.answer(question as FlightQuestion)) as never;
      },
    };
    const log = { warn: (_: object, message: string) => void this.warnings.push(message) };
    const flights = new Flights({ board, rpc, onShared: () => void this.shared++, log });
    this.fetchers.set(fetcher, flights);
    return flights;
  }

  private write(key: string, fetcher: string, lifeMs: number): FlightHold {
    this.writes++;
    this.lives.push(lifeMs);
    this.keys.set(key, { fetcher, revision: ++this.revision });
    return { key, revision: this.revision };
  }

  private check(): void {
    if (this.isAway) throw new Error('no NATS');
  }
}

let cluster: Cluster;
let a: Flights;
let b: Flights;

beforeEach(() => {
  cluster = new Cluster();
  a = cluster.join('a');
  b = cluster.join('b');
});

function wish(
  more: Partial<FlightWish> = {},
  spec: Partial<ScrapeSpec> = {},
  cache: Partial<ScrapeSpec['cache']> = {},
): FlightWish {
  return {
    team: 'team',
    url: 'http://site.test/a',
    spec: { ...CACHED_SPEC, ...spec, cache: { ...CACHED_SPEC.cache, ...cache } },
    leftMs: 1_500,
    signal: new AbortController().signal,
    isServed: () => Promise.resolve(false),
    ...more,
  };
}

function own(found: Found): OwnFlight {
  if (found === null || !('flight' in found)) throw new Error('it is not ours to fetch');
  return found.flight;
}

/** It fetches for itself. */
function isAlone(found: Found): boolean {
  return found !== null && 'flight' in found && !found.flight.isAwaited;
}

function textOf(found: Found): string | null {
  return found !== null && 'page' in found ? Buffer.from(found.page.response.body).toString() : null;
}

describe('scrapes of one page', () => {
  it('are given what the first of them fetches, there and elsewhere, each a copy of its own', async () => {
    const first = own(await a.find(wish()));
    const waiting = [a, b, b].map((flights) => flights.find(wish()));
    await sleep(20);
    first.land(META, Buffer.from('text'));
    const found = await Promise.all(waiting);
    expect(found.map(textOf)).toEqual(['text', 'text', 'text']);
    const bodies = found.map((page) => (page !== null && 'page' in page ? page.page.response.body.buffer : null));
    expect(new Set(bodies).size).toBe(3);
    expect(cluster.shared).toBe(3);
  });

  it('find the page until every fetcher must have seen it in the index', async () => {
    const first = own(await a.find(wish()));
    first.land(META, Buffer.from('text'));
    first.end();
    expect(textOf(await b.find(wish()))).toBe('text');
    expect(textOf(await a.find(wish()))).toBe('text');
    first.stored();
    await sleep(5);
    expect(cluster.lives).toEqual([10_000]);
    expect(textOf(await b.find(wish()))).toBe('text');
  });

  it('keep the key alive as long as the page takes, and for five seconds more', async () => {
    const first = own(await a.find(wish()));
    await sleep(5_500);
    expect(cluster.lives).toEqual([10_000, 10_000]);
    first.land(META, Buffer.from('text'));
    await sleep(4_000);
    first.stored();
    await sleep(5);
    expect(cluster.lives.slice(2)).toEqual([10_000]);
    await sleep(5_200);
    expect(textOf(await b.find(wish()))).toBe('text');
  }, 30_000);

  it('are told when it was had', async () => {
    const first = own(await a.find(wish()));
    first.land(META, Buffer.from('text'));
    const found = await b.find(wish());
    const metadata = found !== null && 'page' in found ? found.page.metadata : null;
    expect(metadata).toEqual({ cacheState: 'hit', cachedAt: expect.any(String) });
    expect(Math.abs(Date.parse(metadata!.cachedAt) - Date.now())).toBeLessThan(1_000);
  });

  it('do not wait when the index has it, and take the newer one when that is there', async () => {
    const first = own(await a.find(wish()));
    const isServed = () => Promise.resolve(true);
    const startedMs = performance.now();
    expect(isAlone(await b.find(wish({ isServed })))).toBe(true);
    expect(performance.now() - startedMs).toBeLessThan(200);
    first.land(META, Buffer.from('newer'));
    expect(textOf(await b.find(wish({ isServed })))).toBe('newer');
  });

  it('fetch it again when what was fetched is too old for them', async () => {
    own(await a.find(wish())).land(META, Buffer.from('old'));
    await sleep(15);
    const again = own(await b.find(wish({}, {}, { maxAgeMs: 10 })));
    again.land(META, Buffer.from('new'));
    expect(textOf(await a.find(wish()))).toBe('new');
  });

  it('one takes over when the page failed, the others fetch for themselves', async () => {
    const first = own(await a.find(wish()));
    const waiting = [b.find(wish()), b.find(wish()), a.find(wish())];
    await sleep(20);
    first.end();
    const found = await Promise.all(waiting);
    expect(found.map(isAlone).sort()).toEqual([false, true, true]);
    expect(found.map(textOf)).toEqual([null, null, null]);
  });

  it('one takes over at once when the fetcher is gone, and the others wait for that one', async () => {
    own(await a.find(wish()));
    cluster.fetchers.delete('a');
    const second = own(await b.find(wish()));
    const waiting = b.find(wish());
    second.land(META, Buffer.from('text'));
    expect(textOf(await waiting)).toBe('text');
  });

  it('stop waiting after two thirds of their time', async () => {
    own(await a.find(wish()));
    for (const flights of [a, b]) {
      const startedMs = performance.now();
      expect(isAlone(await flights.find(wish({ leftMs: 600 })))).toBe(true);
      expect(performance.now() - startedMs).toBeGreaterThanOrEqual(390);
      expect(performance.now() - startedMs).toBeLessThan(590);
    }
  });

  it('follow the page to the fetcher that goes on with it', async () => {
    const first = own(await a.find(wish()));
    first.move();
    const waiting = cluster.join('c').find(wish());
    const moved = own(await b.find(wish({ from: 'a' }, {}, { maxAgeMs: 0 })));
    moved.land(META, Buffer.from('by b'));
    first.end();
    expect(textOf(await waiting)).toBe('by b');
    expect(textOf(await a.find(wish()))).toBe('by b');
  });

  it('go on when it comes back', async () => {
    const first = own(await a.find(wish()));
    first.move();
    const waiting = b.find(wish());
    await sleep(20);
    first.comeBack();
    await sleep(150);
    first.land(META, Buffer.from('by a'));
    expect(textOf(await waiting)).toBe('by a');
  });

  it('are kept apart by team, by address and by kind', async () => {
    own(await a.find(wish()));
    for (const other of [
      wish({ team: 'other' }),
      wish({ url: 'http://site.test/b' }),
      wish({}, { mobile: true }),
      wish({}, { engine: 'browser' }),
    ])
      own(await a.find(other)).end();
  });
});

describe('a scrape', () => {
  it.each<[string, Partial<ScrapeSpec>]>([
    ['with headers', { headers: { cookie: 'a=b' } }],
    ['with actions', { actions: [{ type: 'wait', selector: null, ms: 1 }] }],
    ['of which nothing is kept', { zeroRetention: true }],
  ])('%s neither joins nor leaves a trace', async (_, spec) => {
    own(await a.find(wish())).land(META, Buffer.from('text'));
    const { writes } = cluster;
    expect(await a.find(wish({}, spec))).toBeNull();
    expect(await b.find(wish({}, spec, { maxAgeMs: 0 }))).toBeNull();
    expect(cluster.writes).toBe(writes);
  });

  it('that does not store reads what others have, and shares nothing', async () => {
    expect(await a.find(wish({}, {}, { store: false }))).toBeNull();
    expect(cluster.writes).toBe(0);
    own(await a.find(wish())).land(META, Buffer.from('text'));
    expect(textOf(await b.find(wish({}, {}, { store: false })))).toBe('text');
  });

  it('that wants the page anew fetches it, and later ones find that one', async () => {
    own(await a.find(wish())).land(META, Buffer.from('old'));
    const anew = own(await b.find(wish({}, {}, { maxAgeMs: 0 })));
    await sleep(1);
    anew.land(META, Buffer.from('new'));
    expect(textOf(await a.find(wish()))).toBe('new');
  });

  it('that was asked for earlier does not stand in the way of one that was asked for later and landed first', async () => {
    const slow = own(await a.find(wish()));
    await sleep(5);
    own(await a.find(wish({}, {}, { maxAgeMs: 0 }))).land(META, Buffer.from('newer'));
    slow.land(META, Buffer.from('older'));
    expect([textOf(await a.find(wish())), textOf(await b.find(wish()))]).toEqual(['newer', 'newer']);
  });

  it('that may only read finds what is old enough, and never fetches', async () => {
    const minAgeMs = 20;
    expect(await a.find(wish({}, {}, { minAgeMs }))).toBeNull();
    own(await a.find(wish())).land(META, Buffer.from('text'));
    expect(await b.find(wish({}, {}, { minAgeMs }))).toBeNull();
    await sleep(minAgeMs + 5);
    expect(textOf(await b.find(wish({}, {}, { minAgeMs })))).toBe('text');
  });

  it('is as before while NATS is away, with one word about it', async () => {
    cluster.isAway = true;
    expect([await a.find(wish()), await a.find(wish())]).toEqual([null, null]);
    const anew = own(await b.find(wish({}, {}, { maxAgeMs: 0 })));
    anew.land(META, Buffer.from('text'));
    anew.stored();
    anew.end();
    await sleep(5);
    expect(cluster.warnings).toHaveLength(2);
    expect(await b.find(wish())).toBeNull();
  });

  it('goes on as long as a scrape waits for its page', async () => {
    const [caller, waiter] = [new AbortController(), new AbortController()];
    const flight = own(await a.find(wish({ signal: caller.signal })));
    const waiting = a.find(wish({ signal: waiter.signal }));
    await sleep(5);
    caller.abort(new Error('gone'));
    expect(flight.signal.aborted).toBe(false);
    waiter.abort();
    expect(isAlone(await waiting)).toBe(true);
    expect(flight.signal.aborted).toBe(true);
  });

  it('goes on as long as another fetcher asks for its page', async () => {
    const [caller, waiter] = [new AbortController(), new AbortController()];
    const flight = own(await a.find(wish({ signal: caller.signal })));
    const waiting = b.find(wish({ signal: waiter.signal, leftMs: 5_000 }));
    await sleep(20);
    caller.abort(new Error('gone'));
    await sleep(600);
    expect(flight.signal.aborted).toBe(false);
    waiter.abort();
    await waiting;
    await sleep(1_300);
    expect(flight.signal.aborted).toBe(true);
  });
});

describe('bodies in memory', () => {
  it('are at most 64 MB, the newest ones', async () => {
    const urls = Array.from({ length: 20 }, (_, i) => `http://site.test/${i}`);
    for (const url of urls) own(await a.find(wish({ url }))).land(META, new Uint8Array(4 * MB));
    const found = await Promise.all(urls.map((url) => a.find(wish({ url }))));
    expect(found.map((one) => one !== null && 'page' in one)).toEqual(urls.map((_, i) => i >= 4));
  });
});
