import 'reflect-metadata';
import { readConfig } from '@troupe/config';
import { runService } from '@troupe/observability';
import { startScheduler } from './start.js';

await runService('scheduler', startScheduler, { readConfig });
