import { Module, type OnApplicationShutdown } from '@nestjs/common';
import { secretsInEnvironment } from '@troupe/config';
import type { Tracer } from '@troupe/contracts';
import { Resolver, type AllowList } from '@troupe/egress';
import { Metrics, type Logger } from '@troupe/observability';
import { CONFIG, LOG, TRACER, type Config } from '@troupe/service';
import { AdLists } from '../ads/ad-filter.js';
import { AdsModule } from '../ads/ads.module.js';
import { ArtifactsModule, FILE_KEEPER } from '../artifacts/artifacts.module.js';
import { BROWSERS_HERE, servesHttp } from '../cluster/process.js';
import { browserConcurrency } from './chromium.js';
import { BrowserEngine, type FileKeeper } from './browser.engine.js';
import { BrowserPool } from './browser-pool.js';
import { EgressProxy } from '../proxies/egress-proxy.js';
import { identityOf, userAgentText } from '../http/engine.js';
import { loadBrowserStack } from './browser-stack.js';
import { browserCounts, watchBrowsers } from './browser-counts.js';
import { ALLOW_LIST, ProxiesModule } from '../proxies/proxies.module.js';
import type { BrowsersHere } from '../cluster/browsers-here.js';

const EXPOSED =
  'secrets in the environment of a process that starts browsers can be read by all processes of its user; give them as files ' +
  '(<NAME>_FILE, TROUPE_SECRETS_DIR)';

@Module({
  imports: [AdsModule, ArtifactsModule, ProxiesModule],
  providers: [
    {
      provide: BrowserPool,
      useFactory: createPool,
      inject: [CONFIG, BROWSERS_HERE, EgressProxy, Metrics, LOG],
    },
    {
      provide: BrowserEngine,
      useFactory: (
        pool: BrowserPool,
        resolver: Resolver,
        allow: AllowList,
        adLists: AdLists,
        files: FileKeeper | null,
        tracer: Tracer,
      ) => new BrowserEngine({ pool, resolver, allow, adLists, tracer, ...(files === null ? {} : { files }) }),
      inject: [BrowserPool, Resolver, ALLOW_LIST, AdLists, FILE_KEEPER, TRACER],
    },
  ],
  exports: [BrowserEngine],
})
export class BrowserModule implements OnApplicationShutdown {
  constructor(private readonly engine: BrowserEngine) {}

  onApplicationShutdown(): Promise<void> {
    return this.engine.close();
  }
}

async function createPool(
  config: Config,
  { browsers, absence, sandbox }: BrowsersHere,
  proxy: EgressProxy,
  metrics: Metrics,
  log: Logger,
): Promise<BrowserPool> {
  const exposed = browsers === null ? [] : secretsInEnvironment();
  if (exposed.length > 0) log.warn(`${exposed.join(', ')}: ${EXPOSED}`);
  const pool = new BrowserPool({
    browsers,
    absence,
    ...(sandbox === null ? {} : { sandbox: { isOn: sandbox.isOn, isRequired: config.browserSandbox === 'require' } }),
    ...browserConcurrency(config.browserConcurrency),
    proxy,
    userAgent: userAgentText(identityOf(config)),
    observer: browserCounts(metrics, sandbox?.isOn ?? null, log),
  });
  if (browsers === null) return pool;
  watchBrowsers(metrics, pool);
  // A fetcher that only shows pages loads the stack before it reports ready.
  if (!servesHttp(config)) await loadBrowserStack();
  return pool;
}
