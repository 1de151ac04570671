import { Module, type DynamicModule } from '@nestjs/common';
import type { ServiceContext } from '@troupe/observability';
import { ServiceModule, type Config } from '@troupe/service';
import { ApiModule } from './api/api.module.js';
import { InfraModule } from './infra/infra.module.js';

export { serveDocs } from './api/openapi/serve-docs.js';
export { StatusLane } from './api/status-lane.js';

const NEEDS = { poolSize: 8, checksSchema: true, blobs: true, member: 'gateway' };

@Module({})
export class GatewayModule {
  static of(context: ServiceContext<Config>): DynamicModule {
    return { module: GatewayModule, imports: [ServiceModule.with(context, NEEDS), InfraModule, ApiModule] };
  }
}
