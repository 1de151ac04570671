/** Counts what turns commit: a page, a link or a delivery counts when it is written, and once. */
import type { ActorStore, TurnAnswers, TurnHead, TurnWrites } from '@troupe/actors';
import { FencedError, TurnConflictError } from '@troupe/actors';
import { OUTCOMES, type RowOp } from '@troupe/contracts';
import type { Metrics } from '@troupe/observability';

const DRAIN_BUCKETS = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500];

const ENDS = ['completed', 'failed', 'cancelled'] as const;

type CommitTurn = ActorStore['commitTurn'];

/** `store` with its turns counted. */
export function meteredStore<S extends ActorStore>(store: S, metrics: Metrics): S {
  const counts = new TurnCounts(metrics);
  const commit: CommitTurn = store.commitTurn.bind(store);
  store.commitTurn = (head, decide) => counts.commit(commit, head, decide);
  return store;
}

class TurnCounts {
  private readonly turns;
  private readonly failed;
  private readonly actors;
  private readonly pages;
  private readonly bytes;
  private readonly links;
  private readonly jobs;
  private readonly deliveries;
  private readonly deadLetters;
  private readonly mended;

  constructor(metrics: Metrics) {
    this.turns = metrics.histogram({ name: 'troupe_turn_seconds', help: 'Duration of a turn: one transaction' });
    this.failed = metrics.counterOf(
      {
        name: 'troupe_turns_failed_total',
        help: 'Turns that did not commit; they are repeated, or the partition is given up (fenced)',
      },
      'reason',
      ['fenced', 'conflict', 'error'],
    );
    this.actors = metrics.histogram({
      name: 'troupe_turn_actors',
      help: 'Actors of one turn',
      buckets: DRAIN_BUCKETS,
    });
    this.pages = metrics.counterOf(
      { name: 'troupe_pages_total', help: 'URLs of jobs by how they ended' },
      'outcome',
      OUTCOMES,
    );
    this.bytes = metrics.counter({
      name: 'troupe_page_bytes_total',
      help: 'Bytes of the documents of jobs, before compression',
    });
    this.links = metrics.counterOf(
      { name: 'troupe_links_total', help: 'Links and seeds that jobs were told of, new to the job or known to it' },
      'found',
      ['new', 'known'],
    );
    this.jobs = metrics.counterOf({ name: 'troupe_jobs_finished_total', help: 'Jobs that ended' }, 'status', ENDS);
    this.deliveries = metrics.counterOf(
      {
        name: 'troupe_webhook_attempts_total',
        help: 'Attempts to deliver a webhook event; dead: the last one failed',
      },
      'result',
      ['delivered', 'failed', 'dead'],
    );
    this.deadLetters = metrics.counter({
      name: 'troupe_dead_letters_total',
      help: 'Messages that could not be handled',
    });
    this.mended = metrics.counter({
      name: 'troupe_counters_mended_total',
      help: 'Jobs whose counters did not say what their tables hold, and were set right; each is a defect',
    });
  }

  async commit(commit: CommitTurn, head: TurnHead, decide: (answers: TurnAnswers) => TurnWrites): Promise<void> {
    const stop = this.turns.startTimer();
    let admitted = 0;
    let writes: TurnWrites | null = null;
    try {
      await commit(head, (answers) => {
        admitted = sizeOf(answers);
        writes = decide(answers);
        return writes;
      });
    } catch (error) {
      this.failed.inc(reasonOf(error));
      throw error;
    }
    stop();
    this.actors.observe(head.fences.length);
    this.links.inc('new', admitted);
    this.links.inc('known', Math.max(0, head.candidates.length - admitted));
    this.count(writes!);
  }

  private count({ rows, deadLetters, mended = [] }: TurnWrites): void {
    this.deadLetters.inc(deadLetters.length);
    this.mended.inc(mended.length);
    for (const row of rows) this.countRow(row);
  }

  private countRow(row: RowOp): void {
    if (row.op === 'outcome.insert') this.pages.inc(row.outcome);
    else if (row.op === 'page.insert') this.bytes.inc(row.bytes);
    else if (row.op === 'job.update' && row.finished && row.status !== 'scraping') this.jobs.inc(row.status);
    else if (row.op === 'delivery.attempt') this.deliveries.inc(resultOf(row));
  }
}

function sizeOf({ admitted, seeds }: TurnAnswers): number {
  let size = 0;
  for (const items of admitted.values()) size += items.size;
  for (const rows of seeds.values()) size += rows.length;
  return size;
}

function resultOf({ status, final }: Extract<RowOp, { op: 'delivery.attempt' }>): 'delivered' | 'failed' | 'dead' {
  if (status !== null && status >= 200 && status < 300) return 'delivered';
  return final ? 'dead' : 'failed';
}

function reasonOf(error: unknown): 'fenced' | 'conflict' | 'error' {
  if (error instanceof FencedError) return 'fenced';
  return error instanceof TurnConflictError ? 'conflict' : 'error';
}
