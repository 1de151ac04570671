import { Module } from '@nestjs/common';
import { EdgeState } from './edge.js';
import { HeavyReads } from './heavy-reads.js';

@Module({ providers: [EdgeState, HeavyReads], exports: [EdgeState, HeavyReads] })
export class HttpModule {}
