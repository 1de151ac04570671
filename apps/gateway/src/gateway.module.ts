import { Module, type DynamicModule } from '@nestjs/common';
import { ApiModule } from './api/api.module.js';
import { InfraModule, type GatewayContext } from './infra/infra.module.js';

export { serveDocs } from './api/openapi/serve-docs.js';
export { StatusLane } from './api/status-lane.js';

@Module({})
export class GatewayModule {
  static of(context: GatewayContext): DynamicModule {
    return { module: GatewayModule, imports: [InfraModule.of(context), ApiModule] };
  }
}
