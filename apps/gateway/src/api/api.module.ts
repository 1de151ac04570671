import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { AccountsModule } from '../accounts/accounts.module.js';
import { ArtifactsModule } from '../artifacts/artifacts.module.js';
import { ApiKeyGuard } from '../auth/api-key.guard.js';
import { AuthModule } from '../auth/auth.module.js';
import { ErrorsModule } from '../errors/errors.module.js';
import { HealthModule } from '../health/health.module.js';
import { HttpModule } from '../http/http.module.js';
import { AccountController } from './account.controller.js';
import { AdminApiModule } from './admin/admin-api.module.js';
import { ArtifactsController } from './artifacts.controller.js';
import { HealthController } from './health.controller.js';
import { GoneController, NotOfferedController } from './not-offered.controller.js';
import { StatusLane } from './status-lane.js';
import { V1Module } from './v1/v1.module.js';
import { V2Module } from './v2/v2.module.js';
import { WatchModule } from './watch/watch.module.js';

/** Routes of later modules are tried later, so that offered calls win. */
@Module({ controllers: [GoneController, NotOfferedController] })
class NotOfferedModule {}

/** Controllers that belong to no version. */
@Module({
  imports: [AccountsModule, ArtifactsModule, HealthModule, HttpModule],
  controllers: [HealthController, AccountController, ArtifactsController],
})
class SharedCallsModule {}

@Module({
  imports: [
    AuthModule,
    ErrorsModule,
    V2Module,
    V1Module,
    SharedCallsModule,
    AdminApiModule,
    WatchModule,
    NotOfferedModule,
  ],
  providers: [StatusLane, { provide: APP_GUARD, useClass: ApiKeyGuard }],
})
export class ApiModule {}
