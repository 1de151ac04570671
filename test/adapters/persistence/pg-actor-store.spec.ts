import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ContentError, FencedError, TurnConflictError, type OutboxRow, type TurnAnswers } from '@troupe/actors';
import {
  FROM_HISTORY,
  dayOf,
  fingerprintFromInt64,
  jobNoOf,
  type ActorKey,
  type Candidate,
  type CrawlSpec,
  type Envelope,
  type JobNo,
  type RowOp,
} from '@troupe/contracts';
import { ChangeHistory, createPool, JobRepository, LedgerRepository, PgActorStore } from '@troupe/persistence';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { testDatabase, type TestDatabase } from './database.js';
import { candidate, head, PART, step, writes } from './turns.js';

let db: TestDatabase;
let store: PgActorStore;
let sequence = 1n;
let epoch: number;
let key: ActorKey;
let jobNo: JobNo;

beforeAll(async () => {
  db = await testDatabase();
  store = new PgActorStore(db.pool, { resultTtlHours: 24 });
});
afterAll(() => db.drop());

beforeEach(async () => {
  epoch = await store.mintEpoch(PART, 'me');
  key = `crawl/${randomUUID()}`;
  jobNo = jobNoOf(dayOf(Date.now()), 1_000_000n + sequence++);
});

const count = async (table: string, where = `job_no = ${jobNo}`): Promise<number> =>
  (await db.pool.query<{ n: number }>(`SELECT count(*)::int AS n FROM ${table} WHERE ${where}`)).rows[0]!.n;

async function activated(keys: ActorKey[] = [key]): Promise<void> {
  await store.activate(PART, epoch, keys);
}

/** One turn of the test's actor; returns what it was answered. */
async function turn(rev: number, rows: RowOp[], asks: Parameters<typeof head>[2] = {}): Promise<TurnAnswers> {
  let heard: TurnAnswers | undefined;
  await store.commitTurn(head(epoch, [{ key, rev }], asks), (answers) => {
    heard = answers;
    return writes([step(key, rev)], { rows });
  });
  return heard!;
}

function pair(id: number, n: number, to: ActorKey): OutboxRow {
  const envelope = {
    id: `m${id}`,
    type: 'Cancel',
    v: 1,
    from: key,
    to,
    n,
    body: { type: 'Cancel', job: 'x' },
  } as Envelope;
  return { id, from: key, to, n, payload: { kind: 'actor', envelope } };
}

const PAGE: Omit<Extract<RowOp, { op: 'page.insert' }>, 'jobNo'> = {
  op: 'page.insert',
  ord: 1,
  item: 5,
  url: 'u',
  finalUrl: 'u',
  statusCode: 200,
  depth: 0,
  bytes: 1,
  blob: 'b',
  inline: null,
  credits: 1,
};

describe('the end of an actor that cannot be told anything', () => {
  const ended = () => ({ key, type: 'PagesDone', error: 'INTERNAL_22003' });

  it('fails its job, ends its timers and commands, and leaves a dead letter without its data', async () => {
    const jobs = new JobRepository(db.pool, { resultTtlHours: 24 });
    const created = await jobs.create({
      kind: 'crawl',
      team: randomUUID(),
      keyId: null,
      spec: { url: 'http://a/', limit: 5 } as CrawlSpec,
      originUrl: 'http://a/',
      wireOptions: {},
      origin: 'api',
      integration: null,
      idempotencyKey: null,
      zdr: false,
    });
    jobNo = created.jobNo;
    key = `crawl/${created.job}`;
    await activated();
    await store.commitTurn(head(epoch, [{ key, rev: 0 }]), () =>
      writes([step(key, 0)], { timers: [{ key, name: 'heartbeat', inMs: 1000 }] }),
    );
    await store.endActor(PART, epoch, ended());
    expect(await count('actor_timer', `key = '${key}'`)).toBe(0);
    expect(await count('cmd_outbox', 'true')).toBe(0);
    expect(
      await count(
        'job',
        `job_no = ${jobNo} AND status = 'failed' AND error LIKE 'INTERNAL_22003%' AND expires_at > now()`,
      ),
    ).toBe(1);
    expect(await count('dead_letter', `key = '${key}' AND envelope IS NULL AND error = 'INTERNAL_22003'`)).toBe(1);
    const [row] = await store.activate(PART, epoch, [key]);
    expect(row).toMatchObject({ state: null, terminal: true, rev: 2 });
  });

  it('is refused to a former owner', async () => {
    await activated();
    await store.activate(PART, await store.mintEpoch(PART, 'other'), [key]);
    await expect(store.endActor(PART, epoch, ended())).rejects.toThrow(FencedError);
    expect(await count('dead_letter', `key = '${key}'`)).toBe(0);
  });
});

describe('owners that end', () => {
  const MINE = 11;
  const next = async () => store.lostOwners(MINE, await store.mintEpoch(MINE, 'x'));

  it('without a release are counted, until one is in good order', async () => {
    expect([await next(), await next(), await next()]).toEqual([0, 1, 2]);
    const last = await store.mintEpoch(MINE, 'x');
    await store.mark(MINE, key, 2);
    await store.releasePartition(MINE, last - 1);
    expect(await store.loadMarks(MINE)).toEqual(new Map([[key, 2]]));
    await store.releasePartition(MINE, last);
    expect([await next(), await store.loadMarks(MINE)]).toEqual([0, new Map()]);
  });

  it('long before the next one are not counted', async () => {
    await store.mintEpoch(MINE, 'x');
    await db.pool.query(`UPDATE part_lease SET taken_at = now() - interval '11 minutes' WHERE part = ${MINE}`);
    expect(await next()).toBe(0);
  });

  it('leave marks of the turns that they had begun', async () => {
    await store.mark(MINE, key, 1);
    await store.mark(MINE, key, 2);
    expect(await store.loadMarks(MINE)).toEqual(new Map([[key, 2]]));
    await store.mark(MINE, key, null);
    expect(await store.loadMarks(MINE)).toEqual(new Map());
  });
});

describe('epochs', () => {
  it('grow with every minting, whoever asks', async () => {
    const minted = await Promise.all(['a', 'b', 'c', 'd'].map((owner) => store.mintEpoch(9, owner)));
    expect(minted.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4]);
  });
});

describe('a turn with a value that cannot be sent', () => {
  const unsendable = {
    toPostgres: () => {
      throw new Error('no such value');
    },
  };

  it.each([[{}], [{ candidates: 1 }]])('is not committed in part (%j)', async (asks) => {
    await activated();
    const candidates = 'candidates' in asks ? [candidate(jobNo, 1, 'http://a.test/')] : [];
    const half = store.commitTurn(head(epoch, [{ key, rev: 0 }], { candidates }), () =>
      writes([step(key, 0, 'half')], { timers: [{ key: unsendable as never, name: 't', inMs: 1 }] }),
    );
    await expect(half).rejects.toThrow('no such value');
    expect(await store.activate(PART, epoch, [key])).toMatchObject([{ rev: 0, state: null }]);
    await store.commitTurn(head(epoch, [{ key, rev: 0 }]), () => writes([step(key, 0, 'whole')]));
    expect(await store.activate(PART, epoch, [key])).toMatchObject([{ rev: 1, state: 'whole' }]);
  });
});

describe('turns of several partitions', () => {
  const OTHER = PART + 1;
  const hosts = Array.from({ length: 4 }, (_, i): ActorKey => `domain/h${i}.test`);
  const transactions = async (): Promise<number> =>
    (
      await db.pool.query<{ n: number }>(
        'SELECT count(DISTINCT xmin::text)::int AS n FROM actor WHERE key = ANY($1::text[])',
        [hosts],
      )
    ).rows[0]!.n;

  it('that come together share a transaction; one that is fenced does not hold up the others', async () => {
    const epochs = [epoch, await store.mintEpoch(OTHER, 'me')];
    for (const [i, host] of hosts.entries()) await store.activate(PART + (i % 2), epochs[i % 2]!, [host]);
    const commit = (i: number, rev: number) => {
      const [host, own] = [hosts[i]!, { part: PART + (i % 2), epoch: epochs[i % 2]! }];
      const timers = [{ key: host, name: 'heartbeat', inMs: 1_000 }];
      const outbox = [{ ...pair(1_000_000 + 10 * rev + i, rev + 1, key), from: host }];
      return store.commitTurn({ ...head(0, [{ key: host, rev }]), ...own }, () =>
        writes([step(host, rev)], { timers, outbox }),
      );
    };
    await Promise.all(hosts.map((_, i) => commit(i, 0)));
    expect(await transactions()).toBe(1);
    const homes = async (table: string, column: string) =>
      (await db.pool.query(`SELECT ${column} AS key, part FROM ${table} WHERE ${column} = ANY($1) ORDER BY 1`, [hosts]))
        .rows;
    const expected = hosts.map((host, i) => ({ key: host, part: PART + (i % 2) }));
    expect([await homes('actor_timer', 'key'), await homes('outbox', 'from_key')]).toEqual([expected, expected]);

    epochs[1] = await store.mintEpoch(OTHER, 'somebody else');
    await store.activate(OTHER, epochs[1], [hosts[1]!]);
    epochs[1] -= 1;
    const ends = await Promise.allSettled(hosts.map((_, i) => commit(i, 1)));
    expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
    expect(ends[1]).toMatchObject({ reason: expect.any(FencedError) as unknown });
    expect(await store.activate(OTHER, epochs[1] + 1, [hosts[1]!, hosts[3]!])).toMatchObject([{ rev: 1 }, { rev: 2 }]);
    const sent = await db.pool.query('SELECT from_key FROM outbox WHERE from_key = ANY($1) AND n = 2', [hosts]);
    expect(sent.rows).toHaveLength(3);
  });
});

describe('activation', () => {
  it('makes an absent actor with revision 0 and no state', async () => {
    expect(await store.activate(PART, epoch, [key])).toEqual([{ key, rev: 0, state: null, terminal: false, ageMs: 0 }]);
  });

  it('answers several actors at once, old and new, in order of their keys', async () => {
    const other: ActorKey = 'team/a';
    await activated([other]);
    await store.commitTurn(head(epoch, [{ key: other, rev: 0 }]), () => writes([step(other, 0, { n: 5 })]));
    expect(await store.activate(PART, epoch, [other, key])).toEqual([
      { key, rev: 0, state: null, terminal: false, ageMs: 0 },
      { key: other, rev: 1, state: { n: 5 }, terminal: false, ageMs: expect.any(Number) },
    ]);
  });

  it('is refused when a later epoch has the actor', async () => {
    const later = await store.mintEpoch(PART, 'other');
    await store.activate(PART, later, [key]);
    await expect(store.activate(PART, epoch, [key])).rejects.toThrow(FencedError);
  });

  it('is given to both owners of one epoch that ask at the same moment', async () => {
    const keys = Array.from({ length: 50 }, (_, i): ActorKey => `domain/h${i}.${key.slice(6)}`);
    const answers = await Promise.all([1, 2, 3].map(() => store.activate(PART, epoch, keys)));
    expect(answers.map((rows) => rows.length)).toEqual([50, 50, 50]);
  });
});

describe('the fence', () => {
  it('lets a turn with the right revision and epoch through and raises the revision by one', async () => {
    await activated();
    await turn(0, []);
    expect(await store.activate(PART, epoch, [key])).toMatchObject([{ rev: 1, state: { rev: 0 } }]);
  });

  it('refuses a stale revision and writes nothing', async () => {
    await activated();
    await turn(0, []);
    const id = randomUUID();
    const stale = store.commitTurn(head(epoch, [{ key, rev: 0 }]), () =>
      writes([step(key, 0, 'stale')], {
        timers: [{ key, name: 'x', inMs: 0 }],
        rows: [
          {
            op: 'scrape.insert',
            id,
            team: id,
            keyId: null,
            url: 'http://a/',
            statusCode: 200,
            credits: 1,
            ms: 1,
            atMs: Date.now(),
          },
        ],
      }),
    );
    await expect(stale).rejects.toThrow(FencedError);
    expect(await store.activate(PART, epoch, [key])).toMatchObject([{ rev: 1, state: { rev: 0 } }]);
    expect(await count('scrape_log', `id = '${id}'`)).toBe(0);
    expect(await count('actor_timer', `key = '${key}'`)).toBe(0);
  });

  it('refuses the former owner once a later epoch activated the actor', async () => {
    await activated();
    await store.activate(PART, await store.mintEpoch(PART, 'other'), [key]);
    await expect(turn(0, [])).rejects.toThrow(FencedError);
  });

  it('refuses the former owner before it marks a URL as seen, and without asking it to decide', async () => {
    await activated();
    await store.activate(PART, await store.mintEpoch(PART, 'other'), [key]);
    let decided = false;
    const late = store.commitTurn(
      head(epoch, [{ key, rev: 0 }], { candidates: [candidate(jobNo, 1, 'http://a/1')] }),
      () => {
        decided = true;
        return writes([step(key, 0)]);
      },
    );
    await expect(late).rejects.toThrow(FencedError);
    expect(decided).toBe(false);
    expect(await count('url_seen')).toBe(0);
  });

  it('refuses the whole drain when one of its actors is fenced', async () => {
    const lost: ActorKey = `team/${key.slice(6)}`;
    await activated([key, lost]);
    await store.activate(PART, await store.mintEpoch(PART, 'other'), [lost]);
    const drain = store.commitTurn(
      head(epoch, [
        { key, rev: 0 },
        { key: lost, rev: 0 },
      ]),
      () => writes([step(key, 0), step(lost, 0)]),
    );
    await expect(drain).rejects.toThrow(FencedError);
    expect((await db.pool.query(`SELECT rev FROM actor WHERE key = $1`, [key])).rows).toEqual([{ rev: '0' }]);
  });

  it('lets one of two owners commit when both try the same revision', async () => {
    await activated();
    const results = await Promise.allSettled([turn(0, []), turn(0, []), turn(0, [])]);
    expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(1);
    for (const result of results) if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(FencedError);
  });

  it('names the fence as the reason even when a zombie would also collide with rows of the new owner', async () => {
    await activated();
    const page = {
      op: 'page.insert',
      jobNo,
      ord: 1,
      item: 0,
      url: 'u',
      finalUrl: 'u',
      statusCode: 200,
      depth: 0,
      bytes: 1,
      blob: 'b',
      inline: null,
      credits: 1,
    } as const;
    await turn(0, [page]);
    await expect(turn(0, [page])).rejects.toThrow(FencedError);
  });
});

describe('a turn that fails', () => {
  it('leaves nothing of itself, answers included, and a usable pool', async () => {
    await activated();
    const bad: RowOp = { op: 'error.insert', jobNo, id: 'not a uuid', url: 'u', code: 'c', message: 'm' };
    const asks = { candidates: [candidate(jobNo, 1, 'http://a/1')] };
    await expect(turn(0, [{ op: 'lane.delete', jobNo, lane: 1 }, bad], asks)).rejects.toThrow(/uuid/);
    expect(await count('url_seen')).toBe(0);
    expect(await count('frontier')).toBe(0);
    expect((await turn(0, [], asks)).admitted.get(jobNo)).toEqual(new Set([1]));
  });

  it.each<[string, string, Partial<Extract<RowOp, { op: 'page.insert' }>>]>([
    ['a number out of range', '22003', { credits: 32_768 }],
    ['a text that is no base64', '22023', { inline: '!' }],
    ['a value that no statement takes', 'BUILD', { url: null as never }],
    ['a broken rule of the table', '23502', { bytes: null as never }],
  ])('because of its content says so: %s', async (_, state, wrong) => {
    await activated();
    const failing = turn(0, [{ ...PAGE, jobNo, ...wrong }]);
    await expect(failing).rejects.toMatchObject({ name: ContentError.name, state });
    expect(await count('page')).toBe(0);
    await turn(0, [{ ...PAGE, jobNo }]);
    expect(await count('page')).toBe(1);
  });

  it('does not hold up those of other partitions with which it shares a transaction', async () => {
    const hosts = Array.from({ length: 8 }, () => `domain/${randomUUID()}` as ActorKey);
    await store.activate(PART, epoch, hosts);
    const commits = hosts.map((host, i) =>
      store.commitTurn(head(epoch, [{ key: host, rev: 0 }]), () =>
        writes([step(host, 0)], { timers: [{ key: host, name: 't', inMs: i === 3 ? NaN : 1000 }] }),
      ),
    );
    const ends = await Promise.allSettled(commits);
    expect(ends.map(({ status }) => status)).toEqual(hosts.map((_, i) => (i === 3 ? 'rejected' : 'fulfilled')));
    expect((ends[3] as PromiseRejectedResult).reason).toBeInstanceOf(ContentError);
  });

  it('leaves nothing when decide throws', async () => {
    await activated();
    const failing = store.commitTurn(
      head(epoch, [{ key, rev: 0 }], { candidates: [candidate(jobNo, 1, 'http://a/1')] }),
      () => {
        throw new Error('handler bug');
      },
    );
    await expect(failing).rejects.toThrow('handler bug');
    expect(await count('url_seen')).toBe(0);
  });

  it('fails loudly when a page is written twice', async () => {
    await activated();
    const page = (ord: number): RowOp => ({ ...PAGE, jobNo, ord });
    await turn(0, [page(1)]);
    await expect(turn(1, [page(2)])).rejects.toThrow(/duplicate key/);
    expect(await count('page')).toBe(1);
  });

  it('reports a lock it could not get in time as a conflict that may be tried again', async () => {
    await activated();
    const client = await db.pool.connect();
    const other = createPool({ databaseUrl: `${db.url}?options=-c%20lock_timeout%3D50`, poolSize: 1, name: 'short' });
    try {
      await client.query('BEGIN');
      await client.query('SELECT FROM actor WHERE key = $1 FOR UPDATE', [key]);
      const blocked = new PgActorStore(other, { resultTtlHours: 24 }).commitTurn(head(epoch, [{ key, rev: 0 }]), () =>
        writes([step(key, 0)]),
      );
      await expect(blocked).rejects.toThrow(TurnConflictError);
    } finally {
      await client.query('ROLLBACK');
      client.release();
      await other.end();
    }
  });

  /** The pool may hand out a connection whose end it has not read yet: who meets one asks again, as partitions do. */
  async function activatedAfterLoss(tries = 20): Promise<Awaited<ReturnType<PgActorStore['activate']>>> {
    try {
      return await store.activate(PART, epoch, [key]);
    } catch (error) {
      if (tries === 0) throw error;
      await sleep(50);
      return activatedAfterLoss(tries - 1);
    }
  }

  it('survives the loss of its connection', async () => {
    await activated();
    const killed = store.commitTurn(head(epoch, [{ key, rev: 0 }]), () =>
      writes([step(key, 0)], {
        rows: [
          {
            op: 'job.update',
            jobNo,
            status: 'failed',
            total: 0,
            completed: 0,
            credits: 0,
            error: null,
            warning: null,
            seeds: 0,
            excluded: {},
            finished: true,
          },
        ],
      }),
    );
    const killer = db.pool.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    );
    await Promise.allSettled([killed, killer]);
    const [row] = await activatedAfterLoss();
    expect([0, 1]).toContain(row!.rev);
    await turn(row!.rev, []);
  });
});

describe('admission', () => {
  it('admits a URL once, whichever of two concurrent turns offers it first', async () => {
    const other: ActorKey = `crawl/${randomUUID()}`;
    await activated([key, other]);
    const urls = Array.from({ length: 200 }, (_, i) => `http://a/${i}`);
    const offer = async (actor: ActorKey, from: number, order: string[]): Promise<number> => {
      let n = 0;
      const candidates = order.map((url, i) => candidate(jobNo, from + i, url));
      await store.commitTurn(head(epoch, [{ key: actor, rev: 0 }], { candidates }), (answers) => {
        n = answers.admitted.get(jobNo)?.size ?? 0;
        return writes([step(actor, 0)]);
      });
      return n;
    };
    const [first, second] = await Promise.all([offer(key, 0, urls), offer(other, 1000, urls.toReversed())]);
    expect(first + second).toBe(200);
    expect(await count('frontier')).toBe(200);
  });

  it('counts a URL that is offered twice in one turn once, under its first item', async () => {
    await activated();
    const answers = await turn(0, [], {
      candidates: [
        candidate(jobNo, 4, 'http://a/x'),
        candidate(jobNo, 5, 'http://a/x'),
        candidate(jobNo, 6, 'http://a/y'),
      ],
    });
    expect(answers.admitted.get(jobNo)).toEqual(new Set([4, 6]));
  });

  it('does not admit what an earlier drain admitted', async () => {
    await activated();
    const target = candidate(jobNo, 9, 'http://a/target');
    await turn(0, [], { candidates: [target] });
    const answers = await turn(1, [], { candidates: [target] });
    expect(answers.admitted.size).toBe(0);
    expect(await count('frontier')).toBe(1);
  });

  it('keeps the jobs of one drain apart', async () => {
    await activated();
    const otherJob = jobNoOf(dayOf(Date.now()), 2_000_000n + sequence++);
    const answers = await turn(0, [], {
      candidates: [candidate(jobNo, 1, 'http://a/x'), candidate(otherJob, 1, 'http://a/x')],
    });
    expect([...answers.admitted.keys()].toSorted()).toEqual([jobNo, otherJob].toSorted());
  });

  it('brings back every field of an admitted URL, breadth first', async () => {
    await activated();
    const deep = candidate(jobNo, 1, 'http://b:81/deep', 2, FROM_HISTORY);
    const shallow = { ...candidate(jobNo, 2, 'http://a/shallow', 1), h: 'fedcba9876543210', parent: null };
    await turn(0, [], { candidates: [deep, shallow] });
    const memory = await store.loadJobMemory(jobNo, 10);
    expect(memory.ready).toEqual([
      {
        depth: 1,
        item: 2,
        host: 'a',
        url: 'http://a/shallow',
        h: 'fedcba9876543210',
        parent: null,
        attempt: 0,
        st: 0,
        browser: false,
        tries: 0,
        waitMs: null,
      },
      {
        depth: 2,
        item: 1,
        host: 'b:81',
        url: 'http://b:81/deep',
        h: deep.h,
        parent: FROM_HISTORY,
        attempt: 0,
        st: 0,
        browser: false,
        tries: 0,
        waitMs: null,
      },
    ]);
    expect(fingerprintFromInt64(-1n)).toBe('ffffffffffffffff');
  });

  it('moves seeds into the frontier in order, each once', async () => {
    await activated();
    const jobs = new JobRepository(db.pool, { resultTtlHours: 24 });
    const urls = Array.from({ length: 25 }, (_, i) => ({ url: `http://h${i % 3}/${i}`, host: `h${i % 3}` }));
    const { jobNo: batch } = await jobs.create({
      kind: 'batch',
      team: randomUUID(),
      keyId: null,
      spec: { maxConcurrency: null, scrape: {} as never, webhook: null },
      originUrl: null,
      wireOptions: {},
      origin: null,
      integration: null,
      idempotencyKey: null,
      zdr: false,
      urls,
    });
    const first = await turn(0, [], { seeds: [{ jobNo: batch, fromOrd: 0, toOrd: 10 }] });
    expect(first.seeds.get(batch)).toEqual(urls.slice(0, 10).map(({ url }, ord) => ({ ord, url })));
    const again = await turn(1, [], { seeds: [{ jobNo: batch, fromOrd: 0, toOrd: 12 }] });
    expect(again.seeds.get(batch)).toEqual(urls.slice(10, 12).map(({ url }, i) => ({ ord: i + 10, url })));
    const { ready } = await store.loadJobMemory(batch, 100);
    expect(ready.map(({ item, host, h, depth }) => ({ item, host, h, depth }))).toEqual(
      urls.slice(0, 12).map(({ host }, item) => ({ item, host, h: null, depth: 0 })),
    );
    const ledger = await new LedgerRepository(db.pool).read(batch, { skip: 0, limit: 0, outcome: null });
    expect(ledger?.counts).toEqual({ pending: 25 });
  });
});

describe('frontier and lanes', () => {
  it('tell running URLs from ready ones and forget both when they end', async () => {
    await activated();
    await turn(0, [], { candidates: [1, 2, 3].map((item) => candidate(jobNo, item, `http://a/${item}`)) });
    const lane = {
      lane: 77,
      host: 'a',
      slot: { i: 2, gen: 4_294_967_297 },
      token: { i: 40_000, gen: 8_589_934_593 },
      items: [
        { item: 1, depth: 1 },
        { item: 2, depth: 1 },
      ],
      run: null,
    };
    await turn(1, [
      { op: 'lane.insert', jobNo, ...lane },
      { op: 'frontier.mark', jobNo, depth: 1, item: 1, st: 1, attempt: 0, browser: false },
      { op: 'frontier.mark', jobNo, depth: 1, item: 2, st: 1, attempt: 3, browser: false },
    ]);
    const running = await store.loadJobMemory(jobNo, 10);
    expect(running.lanes).toEqual([lane]);
    expect(running.running.map(({ item, st, attempt }) => [item, st, attempt])).toEqual([
      [1, 1, 0],
      [2, 1, 3],
    ]);
    expect(running.ready.map(({ item }) => item)).toEqual([3]);

    const run = randomUUID();
    await turn(2, [{ op: 'lane.started', jobNo, lane: 77, run }]);
    expect((await store.loadJobMemory(jobNo, 10)).lanes).toEqual([{ ...lane, run }]);

    await turn(3, [
      { op: 'lane.delete', jobNo, lane: 77 },
      { op: 'frontier.delete', jobNo, depth: 1, item: 1 },
      { op: 'frontier.mark', jobNo, depth: 1, item: 2, st: 0, attempt: 4, browser: true },
    ]);
    const after = await store.loadJobMemory(jobNo, 1);
    expect(after).toMatchObject({ lanes: [], running: [], ready: [{ item: 2, attempt: 4, st: 0, browser: true }] });
  });

  it('keeps how often an item was tried and how long it still waits, until it is in a lane again', async () => {
    await activated();
    await turn(0, [], { candidates: [candidate(jobNo, 1, 'http://a/1')] });
    const place = { op: 'frontier.mark' as const, jobNo, depth: 1, item: 1, attempt: 1, browser: false, tries: 4 };
    await turn(1, [{ ...place, st: 0, waitMs: 5_000, rule: 'retry-later' }]);
    const [row] = (await store.loadJobMemory(jobNo, 10)).ready;
    expect(row).toMatchObject({ item: 1, attempt: 1, tries: 4 });
    expect(row!.waitMs).toBeGreaterThan(4_000);
    expect(row!.waitMs).toBeLessThanOrEqual(5_000);
    await turn(2, [{ ...place, st: 1 }]);
    const { rows } = await db.pool.query('SELECT not_before, rule, tries FROM frontier WHERE job_no = $1', [jobNo]);
    expect(rows).toEqual([{ not_before: null, rule: null, tries: 4 }]);
  });

  it('reads a part of the histories with the memory of a job that asks for it, and none otherwise', async () => {
    const team = randomUUID();
    const [urlH, siteH, url] = ['00000000000000a1', '00000000000000b1', 'http://a/tracked'];
    const snapshot = { hash: Buffer.from([1]), blob: 'blob', url, siteH };
    await new ChangeHistory(db.pool).replace({ team, urlH, tag: null }, randomUUID(), snapshot);
    const range = { team, tag: null, siteH, after: null, limit: 5 };
    expect(await store.loadJobMemory(jobNo, 10, range)).toMatchObject({ ready: [], history: [{ urlH, url }] });
    expect(await store.loadJobMemory(jobNo, 10)).not.toHaveProperty('history');
  });

  it('reads lanes that run nothing', async () => {
    await activated();
    await turn(0, [
      {
        op: 'lane.insert',
        jobNo,
        lane: 1,
        host: 'a',
        slot: { i: 0, gen: 1 },
        token: { i: 0, gen: 1 },
        items: [],
        run: null,
      },
    ]);
    expect(await store.loadJobMemory(jobNo, 1)).toMatchObject({ lanes: [{ items: [] }], running: [] });
  });

  it('marks in the turn that admits; what is in no lane is ready all the same', async () => {
    await activated();
    await turn(0, [{ op: 'frontier.mark', jobNo, depth: 1, item: 1, st: 1, attempt: 1, browser: false }], {
      candidates: [candidate(jobNo, 1, 'http://a/1')],
    });
    expect(await store.loadJobMemory(jobNo, 10)).toMatchObject({
      running: [],
      ready: [{ item: 1, st: 1, attempt: 1 }],
    });
  });
});

describe('timers', () => {
  const timer = (
    name: string,
    inMs: number | null,
    owner: ActorKey = key,
  ): { key: ActorKey; name: string; inMs: number | null } => ({ key: owner, name, inMs });
  const setTimers = (rev: number, timers: ReturnType<typeof timer>[]): Promise<void> =>
    store.commitTurn(head(epoch, [{ key, rev }]), () => writes([step(key, rev)], { timers }));
  const names = async (horizonMs: number): Promise<string[]> =>
    (await store.loadTimers(PART, horizonMs)).filter((row) => row.key === key).map((row) => row.name);

  it('come back when due within the horizon, earliest first, moved and removed ones as last set', async () => {
    await activated();
    await setTimers(0, [
      timer('soon', 500),
      timer('overdue', -5_000),
      timer('late', 120_000),
      timer('gone', 10),
      timer('moved', 1),
    ]);
    await setTimers(1, [timer('gone', null), timer('moved', 30_000)]);
    expect(await names(60_000)).toEqual(['overdue', 'soon', 'moved']);
    const due = (await store.loadTimers(PART, 60_000)).find((row) => row.key === key && row.name === 'overdue')!;
    expect(due.dueInMs).toBeLessThan(-4_999);
    expect(due.dueInMs).toBeGreaterThan(-20_000);
  });

  it('take the last word of a turn that sets one twice', async () => {
    await activated();
    await setTimers(0, [timer('a', 1), timer('a', null), timer('b', null), timer('b', 1)]);
    expect(await names(1_000)).toEqual(['b']);
  });
});

describe('the outbox', () => {
  const work: OutboxRow = {
    id: 4_294_967_296_001,
    from: 'domain/a',
    to: null,
    n: null,
    payload: {
      kind: 'work',
      cls: 'kick',
      prio: 'lo',
      id: 'k',
      msg: {
        type: 'Kick',
        task: 'robots',
        actor: 'domain/a',
        host: 'a',
        url: 'http://a/robots.txt',
        agent: 'ü"\\\u0000',
      },
    },
  };

  it('returns rows in the order of their ids, byte for byte, until they are deleted', async () => {
    await activated();
    const own: OutboxRow = { ...work, from: key };
    await store.commitTurn(head(epoch, [{ key, rev: 0 }], { part: 21 }), () =>
      writes([step(key, 0)], { outbox: [{ ...own, id: 9 }, own, { ...own, id: 3 }] }),
    );
    expect((await store.loadOutbox(21, 0, 10)).map((row) => row.id)).toEqual([3, 9, 4_294_967_296_001]);
    expect((await store.loadOutbox(21, 0, 10))[2]).toEqual(own);
    expect(await store.loadOutbox(21, 30_000, 10)).toEqual([]);
    expect(await store.loadOutbox(21, 0, 1)).toHaveLength(1);
    await store.deleteOutbox(21, [3, 9]);
    expect((await store.loadOutbox(21, 0, 10)).map((row) => row.id)).toEqual([4_294_967_296_001]);
  });

  it('keeps pairs until the receiver has passed them', async () => {
    const to: ActorKey = `team/${randomUUID()}`;
    await activated([key, to]);
    await store.commitTurn(head(epoch, [{ key, rev: 0 }], { part: 22 }), () =>
      writes([step(key, 0)], { outbox: [pair(1, 1, to), pair(2, 2, to), pair(3, 3, to)] }),
    );
    await store.commitTurn(head(epoch, [{ key: to, rev: 0 }]), () =>
      writes([step(to, 0)], {
        cursors: [
          { to, from: key, n: 2 },
          { to, from: key, n: 1 },
        ],
      }),
    );
    expect(await store.loadCursors([to, key])).toEqual([{ to, from: key, n: 2 }]);
    expect((await store.loadPairs(to, key, 2)).map((envelope) => envelope.n)).toEqual([3]);
    await store.sweepPairs(22);
    expect((await store.loadOutbox(22, 0, 10)).map((row) => row.n)).toEqual([3]);
  });

  it('never moves a cursor back', async () => {
    await activated();
    const cursor = (rev: number, n: number): Promise<void> =>
      store.commitTurn(head(epoch, [{ key, rev }]), () =>
        writes([step(key, rev)], { cursors: [{ to: key, from: 'gw/x', n }] }),
      );
    await cursor(0, 7);
    await cursor(1, 5);
    expect(await store.loadCursors([key])).toEqual([{ to: key, from: 'gw/x', n: 7 }]);
  });
});

describe('a plain pool without pipelining', () => {
  it('runs the same turns', async () => {
    const plain = new pg.Pool({ connectionString: db.url, max: 1 });
    try {
      const slow = new PgActorStore(plain, { resultTtlHours: 24 });
      await slow.activate(PART, epoch, [key]);
      const asks = { candidates: [candidate(jobNo, 1, 'http://a/1')] };
      const run = (rev: number): Promise<void> =>
        slow.commitTurn(head(epoch, [{ key, rev }], asks), () => writes([step(key, rev)]));
      await run(0);
      await expect(run(0)).rejects.toThrow(FencedError);
      expect(await count('frontier')).toBe(1);
    } finally {
      await plain.end();
    }
  });
});

describe('odd contents', () => {
  it('stores texts that Postgres cannot hold with replacements', async () => {
    await activated();
    const odd = 'a\u0000b\ud800c\\u0000"';
    await store.commitTurn(head(epoch, [{ key, rev: 0 }]), () =>
      writes([step(key, 0, { odd })], {
        rows: [{ op: 'error.insert', jobNo, id: randomUUID(), url: odd, code: 'c', message: odd }],
        deadLetters: [{ key, type: 'T', envelope: { odd }, error: odd }],
      }),
    );
    const [row] = await store.activate(PART, epoch, [key]);
    expect(row!.state).toEqual({ odd: 'a\ufffdb\ufffdc\\u0000"' });
    const { rows } = await db.pool.query(`SELECT message FROM job_error WHERE job_no = $1`, [jobNo]);
    expect(rows).toEqual([{ message: 'a\ufffdb\ufffdc\\u0000"' }]);
    const letters = await db.pool.query(`SELECT part, actor_rev, envelope FROM dead_letter WHERE key = $1`, [key]);
    expect(letters.rows).toEqual([{ part: PART, actor_rev: '0', envelope: { odd: 'a\ufffdb\ufffdc\\u0000"' } }]);
  });

  it('accepts more rows in one turn than a statement has parameters', async () => {
    await activated();
    const candidates = Array.from({ length: 20_000 }, (_, item) => candidate(jobNo, item, `http://a/${item}`));
    const { admitted } = await turn(0, [], { candidates });
    expect(admitted.get(jobNo)!.size).toBe(20_000);
    await turn(
      1,
      candidates.map(({ depth, item }) => ({ op: 'frontier.delete', jobNo, depth, item })),
    );
    expect(await count('frontier')).toBe(0);
  });

  it('loses a turn that stands still, and gives one with thousands of answers longer', async () => {
    await activated();
    const standStill = (candidates: Candidate[]): Promise<void> =>
      store.commitTurn(head(epoch, [{ key, rev: 0 }], { candidates }), () => {
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2500);
        return writes([step(key, 0)]);
      });
    const candidates = Array.from({ length: 15_000 }, (_, item) => candidate(jobNo, item, `http://a/${item}`));
    await expect(standStill(candidates.slice(0, 10))).rejects.toThrow();
    expect(await count('frontier')).toBe(0);
    await standStill(candidates);
    expect(await count('frontier')).toBe(15_000);
  });
});

describe('job rows', () => {
  it('keep their end: a later turn does not change a finished job', async () => {
    await activated();
    const jobs = new JobRepository(db.pool, { resultTtlHours: 24 });
    const created = await jobs.create({
      kind: 'crawl',
      team: randomUUID(),
      keyId: null,
      spec: {} as never,
      originUrl: 'http://a/',
      wireOptions: { url: 'http://a/' },
      origin: 'api',
      integration: null,
      idempotencyKey: null,
      zdr: false,
    });
    const update = (status: 'scraping' | 'completed' | 'cancelled', finished: boolean, completed: number): RowOp => ({
      op: 'job.update',
      jobNo: created.jobNo,
      status,
      total: 9,
      completed,
      credits: completed,
      error: null,
      warning: 'w',
      seeds: 0,
      excluded: {},
      finished,
    });
    await turn(0, [update('scraping', false, 1), update('scraping', false, 4)]);
    expect(await jobs.find(created.job)).toMatchObject({
      status: 'scraping',
      total: 9,
      completed: 4,
      creditsUsed: 4,
      finishedAt: null,
    });
    await turn(1, [update('completed', true, 9)]);
    await turn(2, [update('cancelled', true, 0)]);
    const view = (await jobs.find(created.job))!;
    expect(view).toMatchObject({ status: 'completed', completed: 9, warning: 'w' });
    expect(view.expiresAt.getTime() - view.finishedAt!.getTime()).toBe(24 * 3_600_000);
  });

  it('keep credits cumulative and scrapes single, however often they are written', async () => {
    await activated();
    const team = randomUUID();
    const id = randomUUID();
    const rows = (credits: number): RowOp[] => [
      { op: 'ledger.upsert', jobNo, team, kind: 'crawl', keyId: null, credits, pages: credits },
      {
        op: 'scrape.insert',
        id,
        team,
        keyId: null,
        url: 'http://a/',
        statusCode: 200,
        credits: 1,
        ms: 12.6,
        atMs: Date.now(),
      },
    ];
    await turn(0, rows(3));
    await turn(1, rows(8));
    expect((await db.pool.query(`SELECT credits FROM credit_ledger WHERE job_no = $1`, [jobNo])).rows).toEqual([
      { credits: 8 },
    ]);
    expect((await db.pool.query(`SELECT ms FROM scrape_log WHERE id = $1`, [id])).rows).toEqual([{ ms: 13 }]);
    const usage = await db.pool.query(`SELECT credits::int, calls::int FROM scrape_usage WHERE team_id = $1`, [team]);
    expect(usage.rows).toEqual([{ credits: 1, calls: 1 }]);
  });
});
