import { Module, type OnApplicationShutdown } from '@nestjs/common';
import { Resolver, type AllowList } from '@troupe/egress';
import { CONFIG, type Config } from '@troupe/service';
import { EgressProxy } from '../proxies/egress-proxy.js';
import { ENGINE_TOKENS, identityOf } from './engine.js';
import { GotEngine } from './got.engine.js';
import { HttpEngine } from './http.engine.js';
import { throughProxies } from '../proxies/proxied-engine.js';
import { ALLOW_LIST, ProxiesModule } from '../proxies/proxies.module.js';

/** The plain clients. */
@Module({
  imports: [ProxiesModule],
  providers: [
    {
      provide: HttpEngine,
      useFactory: (resolver: Resolver, allow: AllowList, config: Config) =>
        new HttpEngine({ resolver, allow, identity: identityOf(config) }),
      inject: [Resolver, ALLOW_LIST, CONFIG],
    },
    {
      provide: GotEngine,
      useFactory: (resolver: Resolver, allow: AllowList, proxy: EgressProxy) =>
        new GotEngine({ resolver, allow, proxy }),
      inject: [Resolver, ALLOW_LIST, EgressProxy],
    },
    throughProxies('http', HttpEngine),
    throughProxies('got', GotEngine),
  ],
  exports: [ENGINE_TOKENS.http, ENGINE_TOKENS.got],
})
export class HttpModule implements OnApplicationShutdown {
  constructor(
    private readonly http: HttpEngine,
    private readonly got: GotEngine,
  ) {}

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.http.close(), this.got.close()]);
  }
}
