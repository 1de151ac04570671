import 'reflect-metadata';
import { readConfig } from '@troupe/config';
import { runService } from '@troupe/observability';
import { startConverter } from './start.js';

await runService('converter', startConverter, { readConfig });
