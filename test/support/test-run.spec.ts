import { describe, expect, it } from '@jest/globals';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { workspace } from './cluster.js';

interface Lot {
  name: string;
  specs: string[];
  places: number;
}

async function load<T>(file: string): Promise<T> {
  return (await import(pathToFileURL(path.join(workspace, 'test/run', file)).href)) as T;
}

const { makeLots, PLACES } = await load<{ makeLots(specs: string[]): Lot[]; PLACES: number }>('lots.mjs');
const { runInPlaces } = await load<{
  runInPlaces<T extends { places: number }, R>(tasks: T[], places: number, run: (task: T) => Promise<R>): Promise<R[]>;
}>('places.mjs');

const dist = (spec: string): string => `/w/dist/${spec}.spec.js`;

describe('the lots of a test run', () => {
  const specs = [
    'libs/egress/src/blocklist',
    'libs/content/src/markdown',
    'apps/fetcher/src/engines/browser-pool',
    'test/simulation/simulation',
    'test/adapters/persistence/ledger',
    'test/chaos/crash',
    'test/contract/errors.contract',
    'test/contract/jobs.contract',
    'test/contract/operation.contract',
    'test/e2e/politeness',
    'test/e2e/sdk',
    'test/e2e/something-new',
    'test/clients/tools',
  ].map(dist);

  it('hold every spec once, and fit into the machine', () => {
    const lots = makeLots(specs);
    expect(lots.flatMap((lot) => lot.specs).sort()).toEqual([...specs].sort());
    for (const { places } of lots) {
      expect(places).toBeGreaterThan(0);
      expect(places).toBeLessThanOrEqual(PLACES);
    }
  });

  it('put together what shares a cluster or needs none, and leave the machine to what reads the time', () => {
    const lots = makeLots(specs);
    const lotOf = (spec: string) => lots.find((lot) => lot.specs.includes(dist(spec)))!;
    expect(lotOf('test/contract/errors.contract')).toBe(lotOf('test/contract/jobs.contract'));
    expect(lotOf('test/clients/tools')).toBe(lotOf('test/e2e/sdk'));
    expect(lotOf('libs/egress/src/blocklist')).toBe(lotOf('test/adapters/persistence/ledger'));
    expect(lotOf('test/contract/operation.contract').specs).toHaveLength(1);
    expect(lotOf('test/e2e/something-new')).toMatchObject({ name: 'e2e/something-new', places: 1 });
    expect(lotOf('test/e2e/politeness').places).toBe(PLACES);
    expect(lots[0]).toBe(lotOf('test/e2e/politeness'));
  });
});

describe('tasks in places', () => {
  it('never take more places than there are, and smaller ones pass what does not fit', async () => {
    const tasks = [3, 2, 1, 2, 3, 1].map((places, i) => ({ places, name: `${i}` }));
    const started: string[] = [];
    const finish = new Map<string, () => void>();
    let taken = 0;
    const done = runInPlaces(tasks, 3, async ({ places, name }) => {
      started.push(name);
      taken += places;
      expect(taken).toBeLessThanOrEqual(3);
      await new Promise<void>((resolve) => finish.set(name, resolve));
      taken -= places;
      return `done ${name}`;
    });
    const end = async (name: string): Promise<void> => {
      finish.get(name)!();
      await new Promise((resolve) => setTimeout(resolve, 0));
    };
    expect(started).toEqual(['0']);
    await end('0');
    expect(started).toEqual(['0', '1', '2']);
    await end('2');
    expect(started).toEqual(['0', '1', '2', '5']);
    for (const name of ['1', '5', '3', '4']) await end(name);
    expect(await done).toEqual(tasks.map(({ name }) => `done ${name}`));
  });

  it('fail at once when one needs more places than there are', async () => {
    await expect(runInPlaces([{ places: 2 }], 1, async () => null)).rejects.toThrow('fits');
  });
});
