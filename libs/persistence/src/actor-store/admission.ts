/** The two questions of a turn that have an answer: which candidates are new, and which seeds come next. */
import type { Candidate, JobNo } from '@troupe/contracts';
import type { SeedRange, TurnAnswers } from '@troupe/actors';
import type pg from 'pg';
import { bulkQuery, groupBy, type BulkStatement } from './statement.js';
import { int64, type FrontierInsert } from './row-writes.js';

/** Distinct candidates with their fingerprint as SQL holds it. */
export interface Probe {
  candidate: Candidate;
  h: string;
}

interface SeedRow {
  job_no: JobNo;
  ord: string;
  url: string;
  host: string;
}

const INSERT_SEEN: BulkStatement<Probe> = {
  name: 'seen-admit',
  text: `INSERT INTO url_seen (job_no, h) SELECT * FROM unnest($1::bigint[], $2::bigint[]) ON CONFLICT DO NOTHING RETURNING job_no, h`,
  columns: [(r) => r.candidate.jobNo, (r) => r.h],
};

const TAKE_SEEDS: BulkStatement<SeedRange> = {
  name: 'seed-take',
  text: `DELETE FROM job_seed s USING unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS x(job_no, from_ord, to_ord)
    WHERE s.job_no = x.job_no AND s.ord >= x.from_ord AND s.ord < x.to_ord RETURNING s.job_no, s.ord, s.url, s.host`,
  columns: [(r) => r.jobNo, (r) => r.fromOrd, (r) => r.toOrd],
};

/** Each (job, fingerprint) once, its first candidate wins; sorted, so that concurrent admits cannot deadlock. */
export function distinctProbes(candidates: readonly Candidate[]): Probe[] {
  const distinct = new Map<string, Probe>();
  for (const candidate of candidates) {
    const h = int64(candidate.h);
    const id = probeId(candidate.jobNo, h);
    if (!distinct.has(id)) distinct.set(id, { candidate, h });
  }
  return [...distinct].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, probe]) => probe);
}

export function admissionQueries(probes: readonly Probe[], seeds: readonly SeedRange[]): pg.QueryConfig[] {
  const queries: pg.QueryConfig[] = [];
  if (probes.length > 0) queries.push(bulkQuery(INSERT_SEEN, probes));
  if (seeds.length > 0) queries.push(bulkQuery(TAKE_SEEDS, seeds));
  return queries;
}

/** Turns the two answers into the input of `decide` and the rows that enter the frontier. */
export function readAdmission(
  probes: readonly Probe[],
  seeds: readonly SeedRange[],
  results: readonly pg.QueryResult[],
): { answers: TurnAnswers; frontier: FrontierInsert[] } {
  const seen = probes.length > 0 ? (results[0]?.rows as { job_no: JobNo; h: string }[]) : [];
  const taken = seeds.length > 0 ? (results.at(-1)?.rows as SeedRow[]) : [];
  const fresh = new Set(seen.map((row) => probeId(row.job_no, row.h)));
  const admitted = probes
    .filter(({ candidate, h }) => fresh.has(probeId(candidate.jobNo, h)))
    .map(({ candidate }) => candidate);
  const seedRows = taken.map((row) => ({ ...row, ord: Number(row.ord) })).sort((a, b) => a.ord - b.ord);
  return {
    answers: {
      admitted: new Map(
        [...groupBy(admitted, (c) => c.jobNo)].map(([jobNo, own]) => [jobNo, new Set(own.map((c) => c.item))]),
      ),
      seeds: new Map(
        [...groupBy(seedRows, (row) => row.job_no)].map(([jobNo, own]) => [
          jobNo,
          own.map(({ ord, url }) => ({ ord, url })),
        ]),
      ),
    },
    frontier: [
      ...admitted,
      ...seedRows.map((row) => ({
        jobNo: row.job_no,
        depth: 0,
        item: row.ord,
        host: row.host,
        url: row.url,
        h: null,
        parent: null,
      })),
    ],
  };
}

function probeId(jobNo: JobNo, h: string): string {
  return `${jobNo} ${h}`;
}
