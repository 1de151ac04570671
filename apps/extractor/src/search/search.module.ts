import { Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { createSearchProvider, type OpenProvider } from '@troupe/search';
import { CONFIG } from '@troupe/service';

/** `SearchProvider`, null: none is configured. */
export const SEARCH = Symbol('search');

@Module({
  providers: [{ provide: SEARCH, inject: [CONFIG], useFactory: createSearchProvider }],
  exports: [SEARCH],
})
export class SearchModule implements OnApplicationShutdown {
  constructor(@Inject(SEARCH) private readonly provider: OpenProvider | null) {}

  async onApplicationShutdown(): Promise<void> {
    await this.provider?.close();
  }
}
