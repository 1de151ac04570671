/** Which tables are cut into days, and how a day's table is named (docs/design/data-model.md, "Days"). */
import { jobNoOf } from '@troupe/contracts';

export interface PartitionedTable {
  name: string;
  /** Unit of the range: job numbers, or days themselves. */
  by: 'job_no' | 'day';
  /** Storage parameters: a partition inherits none from its parent. */
  storage: string;
}

const QUEUE_LIKE = 'autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0';

export const PARTITIONED_TABLES: readonly PartitionedTable[] = [
  { name: 'job', by: 'job_no', storage: 'fillfactor = 70' },
  { name: 'job_start', by: 'job_no', storage: '' },
  { name: 'url_seen', by: 'job_no', storage: '' },
  { name: 'frontier', by: 'job_no', storage: `fillfactor = 80, ${QUEUE_LIKE}` },
  { name: 'lane', by: 'job_no', storage: `fillfactor = 80, ${QUEUE_LIKE}` },
  { name: 'job_seed', by: 'job_no', storage: '' },
  { name: 'url_outcome', by: 'job_no', storage: '' },
  // It comes behind the tables it counts: erasing a job counts it down first.
  { name: 'ledger_count', by: 'job_no', storage: 'fillfactor = 50' },
  { name: 'url_excluded', by: 'job_no', storage: '' },
  { name: 'page', by: 'job_no', storage: '' },
  { name: 'page_segment', by: 'job_no', storage: '' },
  { name: 'job_error', by: 'job_no', storage: '' },
  { name: 'model_step', by: 'job_no', storage: '' },
  { name: 'extract_result', by: 'job_no', storage: '' },
  { name: 'delivery_attempt', by: 'job_no', storage: '' },
  { name: 'delivery_end', by: 'job_no', storage: '' },
  { name: 'scrape_log', by: 'day', storage: '' },
  { name: 'scrape_document', by: 'day', storage: '' },
];

export function partitionName(table: string, day: number): string {
  return `${table}_d${day}`;
}

/** Lower (inclusive) and upper (exclusive) bound of a day. */
export function dayBounds(by: PartitionedTable['by'], day: number): [string, string] {
  return by === 'day' ? [`${day}`, `${day + 1}`] : [jobNoOf(day, 0n), jobNoOf(day + 1, 0n)];
}

export function createPartitionSql({ name, by, storage }: PartitionedTable, day: number): string {
  const partition = partitionName(name, day);
  const [from, to] = dayBounds(by, day);
  const options = storage === '' ? '' : ` WITH (${storage})`;
  return (
    `CREATE TABLE ${partition} (LIKE ${name} INCLUDING ALL)${options};` +
    `ALTER TABLE ${name} ATTACH PARTITION ${partition} FOR VALUES FROM (${from}) TO (${to})`
  );
}
