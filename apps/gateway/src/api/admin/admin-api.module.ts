import { Module } from '@nestjs/common';
import { AdminModule } from '../../admin/admin.module.js';
import { AuthModule } from '../../auth/auth.module.js';
import { HttpModule } from '../../http/http.module.js';
import { AdminHostsController } from './hosts.controller.js';
import { AdminRecordsController } from './records.controller.js';
import { AdminTeamsController } from './teams.controller.js';
import { ValidationModule } from '../validation/validation.module.js';

@Module({
  imports: [AdminModule, AuthModule, HttpModule, ValidationModule],
  controllers: [AdminTeamsController, AdminHostsController, AdminRecordsController],
})
export class AdminApiModule {}
