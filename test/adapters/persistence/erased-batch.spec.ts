/** URLs that are appended to a completed batch of whose actor nothing is left: the batch fails, and nothing waits for them. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Partition, PARTITION_DEFAULTS, Random, SimBus, SimClock, type ActorDef } from '@troupe/actors';
import { actorKey, partitionOf, plainScrape } from '@troupe/contracts';
import { JobCommandRepository, JobRepository, PgActorStore } from '@troupe/persistence';
import { randomUUID } from 'node:crypto';
import { batchActor } from '../../../apps/scheduler/src/crawl/batch.actor.js';
import { SILENT } from '../../simulation/owners.js';
import { testDatabase, type TestDatabase } from './database.js';

const TERMS = { resultTtlHours: 24 };
const seed = (url: string) => ({ url, host: 'a.test' });
const batch = batchActor({ robotsAgent: 'troupe', limitCountsFailed: true }) as unknown as ActorDef<unknown, unknown>;

let db: TestDatabase;
beforeAll(async () => {
  db = await testDatabase();
});
afterAll(() => db.drop());

it.each(['ended for good', 'erased with its results'])('of an actor that was %s', async (how) => {
  const team = randomUUID();
  const scrape = plainScrape({ formats: [{ type: 'markdown' }], timeoutMs: 30_000, onlyMainContent: true });
  const { job, jobNo } = await new JobRepository(db.pool, TERMS).create({
    kind: 'batch',
    team,
    keyId: null,
    spec: { maxConcurrency: null, scrape, webhook: null },
    urls: [seed('http://a.test/')],
    originUrl: null,
    wireOptions: {},
    origin: null,
    integration: null,
    idempotencyKey: null,
    zdr: false,
  });
  const key = actorKey('batch', job);
  const part = partitionOf(key);
  const store = new PgActorStore(db.pool, TERMS);
  const epoch = await store.mintEpoch(part, 'me');
  await store.activate(part, epoch, [key]);
  await db.pool.query(`UPDATE job SET status = 'completed', finished_at = now() WHERE job_no = $1`, [jobNo]);
  if (how === 'ended for good') await store.endActor(part, epoch, { key, type: 'Grant', error: 'INTERNAL_22021' });
  else await db.pool.query(`UPDATE actor SET state = NULL, terminal = true WHERE key = $1`, [key]);
  await db.pool.query('DELETE FROM cmd_outbox');

  const append = { job, jobNo, team, seeds: [seed('http://a.test/2')], maxSeeds: 10, maxAgeHours: 1 };
  const recorded = await new JobCommandRepository(db.pool, TERMS).append({ ...append, idempotencyKey: null });
  if (!('command' in recorded)) throw new Error(`refused: ${recorded.refusal}`);
  const time = new SimClock();
  const bus = new SimBus(new Random(1), time);
  const defs = new Map([[batch.kind, batch]]);
  const deps = { store, bus, clock: time, log: SILENT, defs, options: PARTITION_DEFAULTS };
  const owner = new Partition(part, await store.mintEpoch(part, 'next'), deps);
  await owner.open();
  await bus.publishActor(recorded.command.envelope);
  await owner.step();

  const { rows } = await db.pool.query(
    `SELECT status, error, finished_at IS NOT NULL AS "isOver" FROM job WHERE job_no = $1`,
    [jobNo],
  );
  const error = 'internal error: nothing is left of the state of its actor';
  expect(rows).toEqual([{ status: 'failed', error, isOver: true }]);
  expect((await db.pool.query('SELECT FROM cmd_outbox')).rowCount).toBe(0);
  expect((await db.pool.query('SELECT FROM actor_timer WHERE key = $1', [key])).rowCount).toBe(0);
});
