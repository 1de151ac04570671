import { Module } from '@nestjs/common';
import {
  AuditLog,
  BlocklistRepository,
  DeadLetterRepository,
  HostSettingRepository,
  TeamAdminRepository,
} from '@troupe/persistence';
import { overPostgres } from '@troupe/service';
import { DeadLettersService } from './dead-letters.service.js';
import { HostsService } from './hosts.service.js';

const REPOSITORIES = [AuditLog, BlocklistRepository, DeadLetterRepository, HostSettingRepository, TeamAdminRepository];

@Module({
  providers: [...overPostgres(...REPOSITORIES), DeadLettersService, HostsService],
  exports: [AuditLog, BlocklistRepository, TeamAdminRepository, DeadLettersService, HostsService],
})
export class AdminModule {}
