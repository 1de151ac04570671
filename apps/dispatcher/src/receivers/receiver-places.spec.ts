import { beforeEach, describe, expect, it } from '@jest/globals';
import type { SlotHold } from '@troupe/messaging';
import { PER_HOST, ReceiverPlaces } from './receiver-places.js';

let used: Map<string, number>;
let restMs: (server: string) => Promise<number>;
let told: [string, boolean][];
let places: ReceiverPlaces;

/** Places without a wait: null when there is none at once. */
const slots = {
  claimExpress: (host: string, count: number) => {
    const inUse = used.get(host) ?? 0;
    if (inUse >= count) return Promise.resolve(null);
    used.set(host, inUse + 1);
    return Promise.resolve({ host } as SlotHold);
  },
  release: ({ host }: SlotHold) => {
    used.set(host, used.get(host)! - 1);
    return Promise.resolve();
  },
};
const held = (): number => [...used.values()].reduce((sum, n) => sum + n, 0);

beforeEach(() => {
  used = new Map();
  told = [];
  restMs = () => Promise.resolve(0);
  const tell = (server: string, answered: boolean) => Promise.resolve(void told.push([server, answered]));
  places = new ReceiverPlaces({ instance: 'd', slots, board: { restMs: (server) => restMs(server), tell } });
});

const enter = (address: string, team = 't') => places.enter(new URL(address), team);
const isIn = (entry: object): boolean => !('waitMs' in entry);

describe('places of a receiver', () => {
  it('are five a host, whatever the port, and four of them one team’s', async () => {
    const own = await Promise.all(Array.from({ length: 9 }, (_, i) => enter(`http://a.example:${8000 + (i % 3)}/`)));
    expect(own.filter(isIn)).toHaveLength(PER_HOST - 1);
    expect(own.at(-1)).toEqual({ waitMs: 5_000 });
    const others = await Promise.all(['u', 'v'].map((team) => enter('http://a.example/', team)));
    expect(others.map(isIn)).toEqual([true, false]);
    expect(isIn(await enter('http://b.example/'))).toBe(true);
  });

  it('are free again behind the post, with what came of it', async () => {
    const place = await enter('http://a.example:81/');
    if ('waitMs' in place) throw new Error('no place');
    await places.leave(place, false);
    expect([held(), told]).toEqual([0, [['a.example:81', false]]]);
    const idle = await enter('http://a.example:81/');
    if (!('waitMs' in idle)) await places.leave(idle, null);
    expect([held(), told.length]).toEqual([0, 1]);
  });

  it('are not given while the server rests', async () => {
    restMs = (server) => Promise.resolve(server === 'a.example' ? 42_000 : 0);
    expect(await enter('https://a.example/x')).toEqual({ waitMs: 42_000 });
    expect(held()).toBe(0);
    expect(isIn(await enter('https://a.example:444/x'))).toBe(true);
  });

  it('are given back when the state of the server is unknown', async () => {
    restMs = () => Promise.reject(new Error('no answer'));
    await expect(enter('http://a.example/')).rejects.toThrow('no answer');
    expect(held()).toBe(0);
  });
});
