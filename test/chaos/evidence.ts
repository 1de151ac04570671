/** What Postgres and NATS hold of a job: for checks of its books, and for the message of a test that failed. */
import { setTimeout as sleep } from 'node:timers/promises';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import pg from 'pg';
import type { TestCluster } from '../support/cluster.js';

type Row = Record<string, unknown>;

/** One statement on a connection of its own: Postgres may have been restarted since the last one. */
export async function query<R extends Row>(cluster: TestCluster, sql: string, values: unknown[] = []): Promise<R[]> {
  const client = new pg.Client({ connectionString: (await cluster.record()).postgres });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<R>(sql, values)).rows;
  } finally {
    await client.end();
  }
}

/** Everything the tables say of a finished job. */
export interface Books {
  status: string;
  total: number;
  completed: number;
  credits: number;
  ledger: number;
  pages: number;
  /** Distinct items among the pages. */
  items: number;
  firstOrd: number;
  lastOrd: number;
  pageCredits: number;
  finalUrls: string[];
  /** Rows of the outcome ledger, and the same counts as the actor keeps them. */
  outcomes: Record<string, number>;
  counted: Record<string, number>;
  discovered: number;
  frontier: number;
  errors: { url: string; code: string }[];
  deadLetters: number;
}

export async function readBooks(cluster: TestCluster, job: string): Promise<Books> {
  const [head] = await query<{ job_no: string; status: string; total: number; completed: number; credits: number }>(
    cluster,
    'SELECT j.job_no, status, total, completed, credits FROM job j JOIN job_id i USING (job_no) WHERE i.id = $1',
    [job],
  );
  if (head === undefined) throw new Error(`no job ${job}`);
  const [sums] = await query<{
    pages: number;
    items: number;
    first: number;
    last: number;
    credits: number;
    urls: string[];
  }>(
    cluster,
    `SELECT count(*)::int AS pages, count(DISTINCT item)::int AS items, min(ord)::int AS first, max(ord)::int AS last,
            coalesce(sum(credits), 0)::int AS credits, coalesce(array_agg(final_url), '{}') AS urls FROM page WHERE job_no = $1`,
    [head.job_no],
  );
  const outcomes = await query<{ outcome: string; n: number }>(
    cluster,
    'SELECT outcome, count(*)::int AS n FROM url_outcome WHERE job_no = $1 GROUP BY 1 ORDER BY 1',
    [head.job_no],
  );
  const [rest] = await query<{ frontier: number; ledger: number; dead: number }>(
    cluster,
    `SELECT (SELECT count(*)::int FROM frontier WHERE job_no = $1) AS frontier,
            (SELECT coalesce(sum(credits), 0)::int FROM credit_ledger WHERE job_no = $1) AS ledger,
            (SELECT count(*)::int FROM dead_letter) AS dead`,
    [head.job_no],
  );
  const errors = await query<{ url: string; code: string }>(
    cluster,
    'SELECT url, code FROM job_error WHERE job_no = $1',
    [head.job_no],
  );
  const state = await actorState(cluster, job);
  return {
    status: head.status,
    total: head.total,
    completed: head.completed,
    credits: head.credits,
    ledger: rest!.ledger,
    pages: sums!.pages,
    items: sums!.items,
    firstOrd: sums!.first,
    lastOrd: sums!.last,
    pageCredits: sums!.credits,
    finalUrls: sums!.urls,
    outcomes: Object.fromEntries(outcomes.map(({ outcome, n }) => [outcome, n])),
    counted: state.outcomes,
    discovered: state.discovered,
    frontier: rest!.frontier,
    errors,
    deadLetters: rest!.dead,
  };
}

async function actorState(
  cluster: TestCluster,
  job: string,
): Promise<{ outcomes: Record<string, number>; discovered: number }> {
  const [row] = await query<{ state: { s: { outcomes: Record<string, number>; discovered: number } } | null }>(
    cluster,
    "SELECT state FROM actor WHERE key IN ('crawl/' || $1::text, 'batch/' || $1::text)",
    [job],
  );
  return row?.state?.s ?? { outcomes: {}, discovered: 0 };
}

/** What finished jobs still have: actors that are not over, lanes, open URLs, unread commands and letters. */
export function openEnds(cluster: TestCluster): Promise<Row[]> {
  return query(
    cluster,
    `SELECT 'actor' AS what, key AS which FROM actor WHERE NOT terminal AND kind IN ('crawl', 'batch')
     UNION ALL SELECT 'lane', job_no || '.' || lane FROM lane
     UNION ALL SELECT 'frontier', f.job_no || ' ' || url FROM frontier f JOIN job j USING (job_no) WHERE j.status = 'completed'
     UNION ALL SELECT 'command', subject FROM cmd_outbox
     UNION ALL SELECT 'dead letter', key || ' ' || type FROM dead_letter
     UNION ALL SELECT 'token of ' || a.key, t->>'owner' FROM actor a, jsonb_array_elements(a.state->'s'->'pool'->'tokens') t
      WHERE a.kind IN ('domain', 'team') AND NOT a.terminal`,
  );
}

/** What is still open when nothing is left, or the time is over. */
export async function endsLeftOpen(cluster: TestCluster, withinMs: number): Promise<Row[]> {
  for (const deadline = performance.now() + withinMs; ; await sleep(1_000)) {
    const open = await openEnds(cluster);
    if (open.length === 0 || performance.now() > deadline) return open;
  }
}

const ABOUT_JOB = {
  job: 'SELECT j.* FROM job j JOIN job_id i USING (job_no) WHERE i.id = $1::uuid',
  actors: `SELECT key, part, epoch, rev, terminal, updated_at, left(state::text, 1500) AS state FROM actor
            WHERE key LIKE '%' || $1::text OR NOT terminal`,
  timers:
    'SELECT key, name, part, due_at - now() AS due_in FROM actor_timer WHERE $1::text IS NOT NULL ORDER BY due_at LIMIT 20',
  lanes: 'SELECT l.* FROM lane l JOIN job_id i USING (job_no) WHERE i.id = $1::uuid ORDER BY lane LIMIT 30',
  frontier: `SELECT st, attempt, host, count(*), min(url) FROM frontier f JOIN job_id i USING (job_no)
              WHERE i.id = $1::uuid GROUP BY 1, 2, 3`,
  outbox: `SELECT part, count(*), min(created_at), min(subject) AS subject FROM outbox WHERE $1::text IS NOT NULL GROUP BY 1`,
  commands: 'SELECT id, subject, created_at FROM cmd_outbox WHERE $1::text IS NOT NULL LIMIT 10',
  leases: `SELECT owner, count(*), max(epoch), max(taken_at) FROM part_lease WHERE $1::text IS NOT NULL GROUP BY 1`,
  deadLetters: 'SELECT at, key, type, left(error, 400) AS error FROM dead_letter WHERE $1::text IS NOT NULL LIMIT 10',
};

/** A report of everything that can keep a job from ending, for people. */
export async function describeJob(cluster: TestCluster, job: string): Promise<string> {
  const parts: string[] = [];
  for (const [name, sql] of Object.entries(ABOUT_JOB)) {
    const rows = await query(cluster, sql, [job]).catch((error: unknown) => [{ error: String(error) }]);
    parts.push(`== ${name}`, ...rows.map((row) => JSON.stringify(row)));
  }
  parts.push('== streams', ...(await describeStreams(cluster).catch((error: unknown) => [String(error)])));
  const processes = await cluster.processes();
  parts.push('== processes', ...processes.map((p) => `${p.name} pid ${p.pid} ready ${p.ready} restarts ${p.restarts}`));
  return parts.join('\n');
}

async function describeStreams(cluster: TestCluster): Promise<string[]> {
  const url = new URL((await cluster.record()).nats);
  const nc = await connect({
    servers: url.host,
    user: decodeURIComponent(url.username),
    pass: decodeURIComponent(url.password),
    timeout: 3_000,
    reconnect: false,
  });
  const lines: string[] = [];
  try {
    const manager = await jetstreamManager(nc, { timeout: 3_000 });
    for await (const { config, state } of manager.streams.list()) {
      lines.push(
        `${config.name}: ${state.messages} messages, last ${state.last_seq}, ${state.consumer_count} consumers`,
      );
    }
    for (const stream of ['ACT', 'WORK']) {
      for await (const info of manager.consumers.list(stream)) {
        if (info.num_pending + info.num_ack_pending === 0) continue;
        lines.push(
          `${stream} ${info.name}: pending ${info.num_pending}, unacked ${info.num_ack_pending}, waiting ${info.num_waiting}`,
        );
      }
    }
  } finally {
    await nc.close();
  }
  return lines;
}
