import { Module } from '@nestjs/common';
import { AuthModule } from '../../auth/auth.module.js';
import { JobsModule } from '../../jobs/jobs.module.js';
import { WatchServer } from './watch.server.js';

@Module({ imports: [AuthModule, JobsModule], providers: [WatchServer] })
export class WatchModule {}
