import 'reflect-metadata';
import { readConfig } from '@troupe/config';
import { runService } from '@troupe/observability';
import { startGateway } from './start.js';

await runService('gateway', startGateway, { readConfig });
