/** Injection tokens for what the process is started with. */
import { Inject } from '@nestjs/common';

const CONFIG = Symbol('settings');
const LOG = Symbol('logger');

export const SETTINGS = { config: CONFIG, log: LOG } as const;

/** The validated settings (`TroupeConfig`). */
export const InjectConfig = () => Inject(CONFIG);
export const InjectLog = () => Inject(LOG);
