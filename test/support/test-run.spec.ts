import { describe, expect, it } from '@jest/globals';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { workspace } from './cluster.js';

interface SpecGroup {
  name: string;
  specs: string[];
  places: number;
}

async function load<T>(file: string): Promise<T> {
  return (await import(pathToFileURL(path.join(workspace, 'test/run', file)).href)) as T;
}

const { makeGroups, PLACES } = await load<{ makeGroups(specs: string[]): SpecGroup[]; PLACES: number }>('groups.mjs');
const { runInPlaces } = await load<{
  runInPlaces<T extends { places: number }, R>(tasks: T[], places: number, run: (task: T) => Promise<R>): Promise<R[]>;
}>('places.mjs');
interface Tally {
  passed: number;
  failed: number;
  skipped: number;
  ok: boolean;
}
interface Result {
  tally: Tally;
  files: { spec: string; tally: Tally; failures: string[] }[];
}
const { addUp, failureLines } = await load<{
  addUp(tallies: Tally[]): Tally;
  failureLines(results: (Result & { group: { name: string } })[]): string[];
}>('report.mjs');
const { flakyLine, pickSecondLooks, groupOfSecondLook, settleLooks } = await load<{
  flakyLine(flaky: string[]): string;
  pickSecondLooks(results: Result[]): string[];
  groupOfSecondLook(spec: string): SpecGroup;
  settleLooks(results: Result[], looks: Result[]): Tally & { flaky: string[] };
}>('second-look.mjs');

const dist = (spec: string): string => `/w/dist/${spec}.spec.js`;

describe('the groups of a test run', () => {
  const specs = [
    'libs/egress/src/blocklist',
    'libs/content/src/markdown',
    'apps/fetcher/src/browser/browser-pool',
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
    const groups = makeGroups(specs);
    expect(groups.flatMap((group) => group.specs).sort()).toEqual([...specs].sort());
    for (const { places } of groups) {
      expect(places).toBeGreaterThan(0);
      expect(places).toBeLessThanOrEqual(PLACES);
    }
  });

  it('put together what shares a cluster or needs none, and leave the machine to what reads the time', () => {
    const groups = makeGroups(specs);
    const groupOf = (spec: string) => groups.find((group) => group.specs.includes(dist(spec)))!;
    expect(groupOf('test/contract/errors.contract')).toBe(groupOf('test/contract/jobs.contract'));
    expect(groupOf('test/clients/tools')).toBe(groupOf('test/e2e/sdk'));
    expect(groupOf('libs/egress/src/blocklist')).toBe(groupOf('test/adapters/persistence/ledger'));
    expect(groupOf('test/contract/operation.contract').specs).toHaveLength(1);
    expect(groupOf('test/e2e/something-new')).toMatchObject({ name: 'e2e/something-new', places: 1 });
    expect(groupOf('test/e2e/politeness').places).toBe(PLACES);
    expect(groups[0]).toBe(groupOf('test/e2e/politeness'));
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

describe('a second look', () => {
  const tallyOf = (passed: number, failed: number): Tally => ({ passed, failed, skipped: 1, ok: failed === 0 });
  const fileOf = (spec: string, passed: number, failed = 0) => ({
    spec: dist(spec),
    tally: tallyOf(passed, failed),
    failures: Array.from({ length: failed }, (_, i) => `test ${i}\n${'at a line\n'.repeat(99)}`),
  });
  const resultOf = (...files: Result['files']): Result => ({ files, tally: addUp(files.map(({ tally }) => tally)) });
  const silent: Result = { files: [], tally: { passed: 0, failed: 1, skipped: 0, ok: false } };

  it('is taken at what failed beside others, three specs at most', () => {
    const failing = (count: number) => Array.from({ length: count }, (_, i) => fileOf(`test/e2e/bad-${i}`, 3, 1));
    const good = resultOf(fileOf('libs/egress/src/blocklist', 9));
    expect(pickSecondLooks([good])).toEqual([]);
    expect(pickSecondLooks([good, resultOf(...failing(3))])).toEqual(failing(3).map(({ spec }) => spec));
    expect(pickSecondLooks([good, resultOf(...failing(4))])).toEqual([]);
  });

  it('is not taken at a spec that was alone, nor where a group does not say what failed', () => {
    const bad = resultOf(fileOf('test/e2e/map', 3, 1));
    expect(pickSecondLooks([bad])).toEqual([]);
    expect(pickSecondLooks([bad, resultOf(fileOf('libs/egress/src/blocklist', 9)), silent])).toEqual([]);
  });

  it('is not taken where one failure is a finding, but at what failed beside it', () => {
    const findings = ['test/chaos/crash', 'test/simulation/simulation', 'test/adapters/persistence/ledger'];
    const results = [...findings, 'test/e2e/map'].map((spec) => resultOf(fileOf(spec, 3, 1)));
    expect(pickSecondLooks(results.slice(0, 3))).toEqual([]);
    expect(pickSecondLooks(results.slice(1))).toEqual([dist('test/e2e/map')]);
  });

  it('tells what failed once more, each in some lines, also of a group that ended without a word', () => {
    const bad = { ...resultOf(fileOf('test/e2e/map', 3, 2), fileOf('test/e2e/watch', 1)), group: { name: 'maps' } };
    const lines = failureLines([bad, { ...silent, group: { name: 'chaos/crash' } }]);
    expect(lines.filter((line) => line.includes(': '))).toEqual([
      'e2e/map: test 0',
      'e2e/map: test 1',
      'chaos/crash: ended without saying what failed',
    ]);
    expect(lines.length).toBeLessThan(40);
  });

  it('has a group of its own beside the first, with the needs of the first', () => {
    const spec = dist('test/e2e/webhooks');
    const [first] = makeGroups([spec]);
    expect(groupOfSecondLook(spec)).toEqual({ ...first, name: 'again: e2e/webhooks' });
  });

  it('counts instead of the first when it passes, and is told', () => {
    const results = [
      resultOf(fileOf('libs/egress/src/blocklist', 9), fileOf('libs/egress/src/resolver', 3, 2)),
      resultOf(fileOf('test/e2e/map', 4)),
    ];
    const tally = settleLooks(results, [resultOf(fileOf('libs/egress/src/resolver', 5))]);
    expect(tally).toEqual({ passed: 18, failed: 0, skipped: 3, ok: true, flaky: ['libs/egress/src/resolver'] });
    expect(flakyLine(tally.flaky)).toBe('1 flaky: libs/egress/src/resolver');
    expect(flakyLine([])).toBe('0 flaky');
    expect(flakyLine(['e2e/map', 'e2e/cache'])).toBe('2 flaky: e2e/map, e2e/cache');
  });

  it('leaves the failure where it fails again, or ends without a word', () => {
    const results = [resultOf(fileOf('test/e2e/map', 4, 1), fileOf('test/e2e/cache', 2))];
    for (const look of [resultOf(fileOf('test/e2e/map', 3, 2)), silent]) {
      expect(settleLooks(results, [look])).toEqual({ passed: 6, failed: 1, skipped: 2, ok: false, flaky: [] });
    }
  });
});
