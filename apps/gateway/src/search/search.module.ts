import { Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { createSearchProvider, type OpenProvider } from '@troupe/search';
import { CONFIG } from '@troupe/service';
import { JobsModule } from '../jobs/jobs.module.js';
import { LimitsModule } from '../limits/limits.module.js';
import { SEARCH_PROVIDER } from './search-provider.js';
import { SearchService } from './search.service.js';

@Module({
  imports: [JobsModule, LimitsModule],
  providers: [{ provide: SEARCH_PROVIDER, useFactory: createSearchProvider, inject: [CONFIG] }, SearchService],
  exports: [SearchService],
})
export class SearchModule implements OnApplicationShutdown {
  constructor(@Inject(SEARCH_PROVIDER) private readonly provider: OpenProvider | null) {}

  async onApplicationShutdown(): Promise<void> {
    await this.provider?.close();
  }
}
