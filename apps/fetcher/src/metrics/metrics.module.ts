import { Module } from '@nestjs/common';
import { Metrics } from '@troupe/observability';
import { FetchCounts } from './fetch-counts.js';

@Module({
  providers: [{ provide: FetchCounts, useFactory: (metrics: Metrics) => new FetchCounts(metrics), inject: [Metrics] }],
  exports: [FetchCounts],
})
export class MetricsModule {}
