import 'reflect-metadata';
import { readConfig } from '@troupe/config';
import { runService } from '@troupe/observability';
import { startDispatcher } from './start.js';

await runService('dispatcher', startDispatcher, { readConfig });
