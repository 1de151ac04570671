import { Module } from '@nestjs/common';
import { CONFIG, type Config } from '@troupe/service';
import { AdLists } from './ad-filter.js';

@Module({
  providers: [
    {
      provide: AdLists,
      /** Lists of an operator that cannot be read are found out at once. */
      useFactory: async (config: Config) => {
        const lists = new AdLists(config.adListsDir ?? null);
        if (config.adListsDir !== undefined) await lists.filter();
        return lists;
      },
      inject: [CONFIG],
    },
  ],
  exports: [AdLists],
})
export class AdsModule {}
