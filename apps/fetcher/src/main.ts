import 'reflect-metadata';
import { readConfig } from '@troupe/config';
import { runService } from '@troupe/observability';
import { giveWayToThreads } from './thread-priority.js';
import { startFetcher } from './start.js';

await runService('fetcher', startFetcher, { readConfig });
giveWayToThreads();
