import { Module } from '@nestjs/common';
import {
  AuditLog,
  BlocklistRepository,
  dataSourceOn,
  DeadLetterRepository,
  HostSettingRepository,
  TeamAdminRepository,
} from '@troupe/persistence';
import { overPostgres, POOL } from '@troupe/service';
import type { DataSource } from 'typeorm';
import { DeadLettersService } from './dead-letters.service.js';
import { HostsService } from './hosts.service.js';

const DATA_SOURCE = Symbol('data source');

/** Those of TypeORM, which no other process loads (docs/adr/0057). */
const ADMINISTERED = [BlocklistRepository, TeamAdminRepository].map((repository) => ({
  provide: repository,
  useFactory: (dataSource: DataSource) => new repository(dataSource),
  inject: [DATA_SOURCE],
}));

@Module({
  providers: [
    { provide: DATA_SOURCE, useFactory: dataSourceOn, inject: [POOL] },
    ...ADMINISTERED,
    ...overPostgres(AuditLog, DeadLetterRepository, HostSettingRepository),
    DeadLettersService,
    HostsService,
  ],
  exports: [AuditLog, BlocklistRepository, TeamAdminRepository, DeadLettersService, HostsService],
})
export class AdminModule {}
