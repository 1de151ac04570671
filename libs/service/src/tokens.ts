/** Injection tokens of dependencies without a class of their own. */
import type { TroupeConfig } from '@troupe/config';

export type Config = Readonly<TroupeConfig>;

/** `Config` */
export const CONFIG = Symbol('settings');
/** `Logger` of `@troupe/observability` */
export const LOG = Symbol('log');
/** `Tracer` of `@troupe/contracts` */
export const TRACER = Symbol('tracer');
/** Name of this process, unique in the cluster. */
export const INSTANCE = Symbol('instance');
/** `LivePool` of `@troupe/persistence` */
export const POOL = Symbol('Postgres');
/** `OpenBlobs` of `@troupe/blob-store` */
export const BLOBS = Symbol('blobs');
