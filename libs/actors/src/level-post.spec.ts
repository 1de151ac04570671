import { beforeEach, describe, expect, it } from '@jest/globals';
import { partitionOf, type Envelope, type Mail } from '@troupe/contracts';
import type { Clock, RuntimeLog } from './clock.js';
import { LevelPost } from './level-post.js';
import type { Bus } from './ports.js';

const SILENT: RuntimeLog = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

let mail: Mail[];
let isDown: boolean;
/** Ends the waits that have begun. */
let wake: (() => void)[];
let now: number;

const bus = {
  publishActor: (sent: Mail) => {
    mail.push(sent);
    return isDown ? Promise.reject(new Error('no answer')) : Promise.resolve();
  },
} as unknown as Bus;

const clock: Clock = {
  now: () => now,
  wall: () => 0,
  sleep: () => new Promise((resolve) => wake.push(resolve)),
};

function level(id: string, to: string): Envelope {
  return { id, type: 'Cancel', v: 1, from: 'team/a', to, n: null, body: { type: 'Cancel' } } as unknown as Envelope;
}

const post = (paceMs: number): LevelPost => new LevelPost({ bus, log: SILENT, clock, paceMs });
const hosts = Array.from({ length: 400 }, (_, i) => `domain/host${i}`);
const idsOf = ({ body, id }: Mail): string[] => (body.type === 'Sack' ? body.letters.map((letter) => letter.id) : [id]);

beforeEach(() => {
  mail = [];
  isDown = false;
  wake = [];
  now = 1_000;
});

describe('level messages', () => {
  it('are sent once and never kept', async () => {
    isDown = true;
    const levels = post(0);
    levels.publish([level('v.1', 'team/a')]);
    await new Promise((resolve) => setTimeout(resolve));
    levels.flush();
    expect(mail.map(({ id }) => id)).toEqual(['v.1']);
  });

  it('to one partition travel in one piece of mail, a lonely one as it is', () => {
    post(0).publish(hosts.map((to) => level(to, to)));
    const parts = new Set(hosts.map((to) => partitionOf(to as Envelope['to'])));
    expect(mail).toHaveLength(parts.size);
    expect(mail.flatMap(idsOf).sort()).toEqual([...hosts].sort());
  });

  it('after a rest do not wait; what follows at once goes together, in order', async () => {
    const levels = post(10);
    for (let i = 0; i < 5; i++) levels.publish([level(`v.${i}`, 'batch/j')]);
    expect(mail.map(idsOf)).toEqual([['v.0']]);
    expect(wake).toHaveLength(1);
    now += 10;
    wake.shift()!();
    await Promise.resolve();
    expect(mail.map(idsOf)).toEqual([['v.0'], ['v.1', 'v.2', 'v.3', 'v.4']]);
    levels.publish([level('v.5', 'batch/j')]);
    expect(mail).toHaveLength(2);
    now += 10;
    wake.shift()!();
    await Promise.resolve();
    now += 10;
    levels.publish([level('v.6', 'batch/j')]);
    expect(mail.map(idsOf).slice(2)).toEqual([['v.5'], ['v.6']]);
    expect(wake).toEqual([]);
  });

  it('that this process receives itself do not leave it, nor wait', () => {
    const handed: string[] = [];
    const deliverHere = ({ id, to }: Envelope) => to === 'team/here' && !!handed.push(id);
    const levels = new LevelPost({ bus, log: SILENT, clock, paceMs: 10, deliverHere });
    levels.publish([level('v.1', 'team/away'), level('v.2', 'team/here')]);
    levels.publish([level('v.3', 'team/here'), level('v.4', 'team/away')]);
    expect([handed, mail.map(idsOf)]).toEqual([['v.2', 'v.3'], [['v.1']]]);
  });

  it('of which there are very many are several pieces of mail', () => {
    post(0).publish(Array.from({ length: 300 }, (_, i) => level(`v.${i}`, 'batch/j')));
    expect(mail.map((sent) => idsOf(sent).length)).toEqual([128, 128, 44]);
  });
});
