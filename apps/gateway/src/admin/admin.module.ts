import { Module } from '@nestjs/common';
import {
  AuditLog,
  BlocklistRepository,
  DeadLetterRepository,
  HostSettingRepository,
  TeamAdminRepository,
} from '@troupe/persistence';
import { onPool } from '../infra/adapters.js';
import { DeadLettersService } from './dead-letters.service.js';
import { HostsService } from './hosts.service.js';

const REPOSITORIES = [AuditLog, BlocklistRepository, DeadLetterRepository, HostSettingRepository, TeamAdminRepository];

@Module({
  providers: [...REPOSITORIES.map((repository) => onPool<object>(repository)), DeadLettersService, HostsService],
  exports: [AuditLog, BlocklistRepository, TeamAdminRepository, DeadLettersService, HostsService],
})
export class AdminModule {}
