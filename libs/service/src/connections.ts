import { Inject, Injectable, Optional, type OnApplicationShutdown } from '@nestjs/common';
import type { OpenBlobs } from '@troupe/blob-store';
import { MemberBoard, NatsLink } from '@troupe/messaging';
import type { HealthChecks } from '@troupe/observability';
import type { LivePool } from '@troupe/persistence';
import { BLOBS, POOL } from './tokens.js';

/** A connection: asked whether the process is ready, and closed when all of its parts have ended. */
@Injectable()
export class Connections implements OnApplicationShutdown {
  constructor(
    @Inject(NatsLink) private readonly link: NatsLink,
    @Optional() @Inject(MemberBoard) private readonly members?: MemberBoard,
    @Optional() @Inject(POOL) private readonly pool?: LivePool,
    @Optional() @Inject(BLOBS) private readonly blobs?: OpenBlobs,
  ) {}

  checks(): HealthChecks {
    const { link, pool, blobs } = this;
    return {
      nats: () => link.ping(),
      ...(pool && { postgres: async () => void (await pool.query('SELECT 1')) }),
      ...(blobs && { blobs: () => blobs.check() }),
    };
  }

  /** The module of the service is global, so this runs after the hooks of all others. */
  async onApplicationShutdown(): Promise<void> {
    await this.members?.stop();
    await this.link.close();
    await this.pool?.end();
    this.blobs?.close();
  }
}
