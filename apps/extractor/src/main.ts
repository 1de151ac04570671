import 'reflect-metadata';
import { readConfig } from '@troupe/config';
import { runService } from '@troupe/observability';
import { startExtractor } from './start.js';

await runService('extractor', startExtractor, { readConfig });
