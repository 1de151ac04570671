import { describe, expect, it } from '@jest/globals';
import type { ActorKey } from '@troupe/contracts';
import { Activations } from './activations.js';

function activate(actors: Activations, key: ActorKey, now: number) {
  return actors.add({ key, rev: 3, state: null, terminal: false, ageMs: 0 }, { notes: [] }, now, now);
}

describe('living actors', () => {
  it('begin without memory, cursors and a known heartbeat, at the stored revision', () => {
    const actors = new Activations(10);
    const liveActor = activate(actors, 'crawl/a', 5);
    expect(liveActor).toMatchObject({
      key: 'crawl/a',
      rev: 3,
      terminal: false,
      memory: null,
      heartbeatAt: 0,
      usedAt: 5,
    });
    expect([liveActor.cursors.size, liveActor.sent.size]).toEqual([0, 0]);
    expect(actors.get('crawl/a')).toBe(liveActor);
  });

  it('are forgotten when they have been idle long enough', () => {
    const actors = new Activations(10);
    const old = activate(actors, 'crawl/old', 0);
    activate(actors, 'crawl/young', 50);
    actors.passivate(99, 100);
    expect(actors.size).toBe(2);
    actors.passivate(100, 100);
    expect([actors.get('crawl/old'), actors.get('crawl/young')?.key]).toEqual([undefined, 'crawl/young']);
    expect(old.key).toBe('crawl/old');
  });

  it('stay when they were used meanwhile', () => {
    const actors = new Activations(10);
    const a = activate(actors, 'crawl/a', 0);
    activate(actors, 'crawl/b', 0);
    actors.touch(a, 90);
    actors.passivate(100, 100);
    expect([actors.get('crawl/a')?.key, actors.get('crawl/b')]).toEqual(['crawl/a', undefined]);
  });

  it('above the capacity go least recently used first', () => {
    const actors = new Activations(2);
    const a = activate(actors, 'crawl/a', 0);
    for (const key of ['crawl/b', 'crawl/c', 'crawl/d'] as const) activate(actors, key, 0);
    actors.touch(a, 1);
    actors.passivate(1, 100);
    expect(
      (['crawl/a', 'crawl/b', 'crawl/c', 'crawl/d'] as const).filter((key) => actors.get(key) !== undefined),
    ).toEqual(['crawl/a', 'crawl/d']);
  });

  it('are thrown away by name after a turn that failed', () => {
    const actors = new Activations(10);
    activate(actors, 'crawl/a', 0);
    actors.discard(['crawl/a', 'crawl/unknown']);
    expect(actors.size).toBe(0);
  });
});
