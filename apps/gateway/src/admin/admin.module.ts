import { Module } from '@nestjs/common';
import {
  AuditLog,
  BlocklistRepository,
  dataSourceOn,
  DeadLetterRepository,
  HostSettingRepository,
  TeamAdminRepository,
} from '@troupe/persistence';
import type { DataSource } from 'typeorm';
import { onPool, POOL } from '../infra/adapters.js';
import { DeadLettersService } from './dead-letters.service.js';
import { HostsService } from './hosts.service.js';

const DATA_SOURCE = Symbol('data source');

/** Those of TypeORM, which no other process loads (docs/adr/0057). */
const ADMINISTERED = [BlocklistRepository, TeamAdminRepository].map((repository) => ({
  provide: repository,
  useFactory: (dataSource: DataSource) => new repository(dataSource),
  inject: [DATA_SOURCE],
}));
const REPOSITORIES = [AuditLog, DeadLetterRepository, HostSettingRepository];

@Module({
  providers: [
    { provide: DATA_SOURCE, useFactory: dataSourceOn, inject: [POOL] },
    ...ADMINISTERED,
    ...REPOSITORIES.map((repository) => onPool<object>(repository)),
    DeadLettersService,
    HostsService,
  ],
  exports: [AuditLog, BlocklistRepository, TeamAdminRepository, DeadLettersService, HostsService],
})
export class AdminModule {}
