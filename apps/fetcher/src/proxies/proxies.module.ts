import { Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { isBlockedHost, parseAllowList, Resolver, type AllowList } from '@troupe/egress';
import { Metrics, type Logger } from '@troupe/observability';
import { BlockedHosts, TeamProxies } from '@troupe/persistence';
import { CONFIG, LOG, watched, type Config } from '@troupe/service';
import { EgressProxy } from './egress-proxy.js';
import { FetchCounts } from './fetch-counts.js';
import { ProxyPools } from './proxy-pools.js';
import { StealthHosts } from './stealth-hosts.js';

export const ALLOW_LIST = Symbol('AllowList');

/** Allowed targets of requests, and the proxies on their way. */
@Module({
  providers: [
    watched(BlockedHosts, 'the blocklist was'),
    watched(TeamProxies, 'the proxies of the teams were'),
    {
      provide: ALLOW_LIST,
      useFactory: (config: Config, blocklist: BlockedHosts): AllowList => ({
        ...parseAllowList(config.allowPrivateTargets),
        isBlocked: (host: string) => isBlockedHost(host, blocklist.hosts),
      }),
      inject: [CONFIG, BlockedHosts],
    },
    {
      provide: Resolver,
      useFactory: (config: Config, allow: AllowList) => new Resolver({ servers: config.dnsServers, allow }),
      inject: [CONFIG, ALLOW_LIST],
    },
    { provide: EgressProxy, useFactory: (resolver: Resolver) => new EgressProxy(resolver), inject: [Resolver] },
    {
      provide: ProxyPools,
      useFactory: (config: Config, teams: TeamProxies, resolver: Resolver, log: Logger) =>
        new ProxyPools({
          installation: { basic: config.proxyBasic, stealth: config.proxyStealth },
          listsOf: (team) => teams.listsOf(team),
          resolver,
          log,
        }),
      inject: [CONFIG, TeamProxies, Resolver, LOG],
    },
    StealthHosts,
    { provide: FetchCounts, useFactory: (metrics: Metrics) => new FetchCounts(metrics), inject: [Metrics] },
  ],
  exports: [ALLOW_LIST, Resolver, EgressProxy, FetchCounts, ProxyPools, StealthHosts],
})
export class ProxiesModule implements OnApplicationShutdown {
  constructor(
    private readonly proxy: EgressProxy,
    @Inject(BlockedHosts) private readonly blocklist: BlockedHosts,
    @Inject(TeamProxies) private readonly teams: TeamProxies,
  ) {}

  /** The engines, which use the proxy, lie above and are closed by now. */
  async onApplicationShutdown(): Promise<void> {
    this.blocklist.stop();
    this.teams.stop();
    await this.proxy.close();
  }
}
