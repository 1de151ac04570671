import type { JobKind, JobNo, JobStatus, Uuid } from '@troupe/contracts';
import type { EntitySchemaOptions } from 'typeorm';

/** A job as clients see it. Inserted by the gateway, then written by the job's actor, marked fields excepted. */
export interface Job {
  jobNo: JobNo;
  id: Uuid;
  teamId: Uuid;
  kind: JobKind;
  status: JobStatus;
  /** Written by the gateway. */
  paused: boolean;
  createdAt: Date;
  finishedAt: Date | null;
  expiresAt: Date;
  originUrl: string | null;
  options: JobOptions;
  total: number;
  completed: number;
  credits: number;
  error: string | null;
  warning: string | null;
  zdr: boolean;
  shards: number;
}

/** What was asked, kept for display only: the actor's state holds what it works by. */
export interface JobOptions {
  wire: unknown;
  origin: string | null;
  integration: string | null;
  keyId: Uuid | null;
}

export const JobEntity: EntitySchemaOptions<Job> = {
  name: 'Job',
  tableName: 'job',
  columns: {
    jobNo: { name: 'job_no', type: 'bigint', primary: true },
    id: { type: 'uuid' },
    teamId: { name: 'team_id', type: 'uuid' },
    kind: { type: 'text' },
    status: { type: 'text' },
    paused: { type: 'boolean' },
    createdAt: { name: 'created_at', type: 'timestamptz' },
    finishedAt: { name: 'finished_at', type: 'timestamptz', nullable: true },
    expiresAt: { name: 'expires_at', type: 'timestamptz' },
    originUrl: { name: 'origin_url', type: 'text', nullable: true },
    options: { type: 'jsonb' },
    total: { type: 'int' },
    completed: { type: 'int' },
    credits: { type: 'int' },
    error: { type: 'text', nullable: true },
    warning: { type: 'text', nullable: true },
    zdr: { type: 'boolean' },
    shards: { type: 'smallint' },
  },
};

/** Router from the public id to the partition; outlives its job by 7 days as a tombstone. */
export interface JobId {
  id: Uuid;
  jobNo: JobNo;
  teamId: Uuid;
  kind: JobKind;
  expiresAt: Date;
}

export const JobIdEntity: EntitySchemaOptions<JobId> = {
  name: 'JobId',
  tableName: 'job_id',
  columns: {
    id: { type: 'uuid', primary: true },
    jobNo: { name: 'job_no', type: 'bigint' },
    teamId: { name: 'team_id', type: 'uuid' },
    kind: { type: 'text' },
    expiresAt: { name: 'expires_at', type: 'timestamptz' },
  },
};

export interface JobError {
  jobNo: JobNo;
  id: Uuid;
  at: Date;
  url: string;
  code: string;
  message: string;
}

export const JobErrorEntity: EntitySchemaOptions<JobError> = {
  name: 'JobError',
  tableName: 'job_error',
  columns: {
    jobNo: { name: 'job_no', type: 'bigint', primary: true },
    id: { type: 'uuid', primary: true },
    at: { type: 'timestamptz' },
    url: { type: 'text' },
    code: { type: 'text' },
    message: { type: 'text' },
  },
};

/** First use of an `x-idempotency-key`; binds it for 24 h. */
export interface Idempotency {
  teamId: Uuid;
  key: string;
  id: Uuid;
  at: Date;
}

export const IdempotencyEntity: EntitySchemaOptions<Idempotency> = {
  name: 'Idempotency',
  tableName: 'idempotency',
  columns: {
    teamId: { name: 'team_id', type: 'uuid', primary: true },
    key: { type: 'text', primary: true },
    id: { type: 'uuid' },
    at: { type: 'timestamptz' },
  },
};
