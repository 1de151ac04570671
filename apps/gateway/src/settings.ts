/** Injection tokens for the values that the process is started with, and for connections that have no class. */
import { Inject } from '@nestjs/common';

export const CONFIG = Symbol('settings');
export const LOG = Symbol('logger');
export const TRACER = Symbol('tracer');
export const INSTANCE = Symbol('instance');
export const BLOBS = Symbol('blobs');

/** The validated settings (`TroupeConfig`). */
export const InjectConfig = () => Inject(CONFIG);
export const InjectLog = () => Inject(LOG);
/** `Tracer`; where nothing is recorded, `NO_TRACES`. */
export const InjectTracer = () => Inject(TRACER);
/** Unique for this process, usable as a key. */
export const InjectInstance = () => Inject(INSTANCE);
/** `OpenBlobs`: the roots of the blob store. */
export const InjectBlobs = () => Inject(BLOBS);
