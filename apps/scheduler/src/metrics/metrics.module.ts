import { Module } from '@nestjs/common';
import { ActorRuntime } from '@troupe/actors';
import type { OpenBlobs } from '@troupe/blob-store';
import { NatsLink, readBacklog } from '@troupe/messaging';
import { Metrics } from '@troupe/observability';
import { Census, type LivePool } from '@troupe/persistence';
import { BLOBS, POOL } from '@troupe/service';
import { LEADER_PARTITION } from '../housekeeping/rounds.js';
import { RuntimeModule } from '../runtime/runtime.module.js';
import { ClusterGauges } from './cluster-gauges.js';

@Module({
  imports: [RuntimeModule],
  providers: [
    {
      provide: Census,
      inject: [POOL],
      useFactory: (pool: LivePool) => new Census(pool.beside({ poolSize: 1 })),
    },
    {
      provide: ClusterGauges,
      inject: [Metrics, ActorRuntime, Census, NatsLink, BLOBS],
      useFactory: (metrics: Metrics, runtime: ActorRuntime, census: Census, link: NatsLink, blobs: OpenBlobs) => {
        metrics.watch(
          { name: 'troupe_partitions_held', help: 'Partitions of actors that this scheduler runs' },
          () => runtime.partitions.length,
        );
        return new ClusterGauges(metrics, {
          isLeader: () => runtime.partitions.includes(LEADER_PARTITION),
          census,
          backlog: () => readBacklog(link),
          disk: () => blobs.space(),
        });
      },
    },
  ],
})
export class MetricsModule {}
