import { Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import { RPC, type Converter, type Tracer } from '@troupe/contracts';
import { LocalConverter, MeteredConverter, NatsConverter, type ConvertReplyHead } from '@troupe/conversion';
import { Rpc } from '@troupe/messaging';
import { Metrics } from '@troupe/observability';
import { CONFIG, TRACER, type Config } from '@troupe/service';
import { BrowserModule } from '../browser/browser.module.js';
import { ChangesModule } from '../changes/changes.module.js';
import { HAS_BROWSER } from '../cluster/process.js';
import { BrowserEngine } from '../browser/browser.engine.js';
import { ENGINE_TOKENS, type FetchEngine } from '../http/engine.js';
import { Ladder } from './ladder.js';
import { HttpModule } from '../http/http.module.js';
import { ModelsModule } from '../models/models.module.js';
import { throughProxies } from '../proxies/proxied-engine.js';
import { ProxiesModule } from '../proxies/proxies.module.js';
import { ProxyPools } from '../proxies/proxy-pools.js';
import { StealthHosts } from '../proxies/stealth-hosts.js';
import { LinkPatterns } from './link-patterns.js';
import { CONVERTER, ENGINES, PageFetcher, STEALTH, type Engines, type StealthRoutes } from './page-fetcher.js';
import { PageFinisher, PageFinisherParts } from './page-finisher.js';

/** The converter as it is: threads of this process, or the converter service. */
const CONVERSION = Symbol('conversion');
const CONVERT_TIMEOUT_MS = 30_000;

@Module({
  imports: [BrowserModule, ChangesModule, HttpModule, ModelsModule, ProxiesModule],
  providers: [
    PageFetcher,
    PageFinisher,
    PageFinisherParts,
    { provide: Ladder, useFactory: (hasBrowser: boolean) => new Ladder({ hasBrowser }), inject: [HAS_BROWSER] },
    throughProxies('browser', BrowserEngine),
    {
      provide: ENGINES,
      useFactory: (http: FetchEngine, got: FetchEngine, browser: FetchEngine): Engines => ({ http, got, browser }),
      inject: [ENGINE_TOKENS.http, ENGINE_TOKENS.got, ENGINE_TOKENS.browser],
    },
    { provide: CONVERSION, useFactory: openConversion, inject: [CONFIG, Rpc] },
    {
      provide: CONVERTER,
      useFactory: (conversion: Converter, metrics: Metrics, tracer: Tracer) =>
        new LinkPatterns(new MeteredConverter(conversion, metrics, tracer)),
      inject: [CONVERSION, Metrics, TRACER],
    },
    {
      provide: STEALTH,
      useFactory: (pools: ProxyPools, hosts: StealthHosts): StealthRoutes => ({
        hasExit: (team) => pools.hasStealthExit(team),
        hosts,
      }),
      inject: [ProxyPools, StealthHosts],
    },
  ],
  exports: [PageFetcher, PageFinisher],
})
export class PagesModule implements OnApplicationShutdown {
  constructor(@Inject(CONVERSION) private readonly conversion: Converter) {}

  async onApplicationShutdown(): Promise<void> {
    if (this.conversion instanceof LocalConverter) await this.conversion.stop();
  }
}

function openConversion({ converter, converterThreads, ocrCommand }: Config, rpc: Rpc): Converter {
  if (converter === 'local') {
    const threads = new LocalConverter({ threads: converterThreads, ocrCommand: ocrCommand ?? null });
    threads.start();
    return threads;
  }
  return new NatsConverter((head, body, options) => rpc.call<ConvertReplyHead>(RPC.convert, head, body, options), {
    timeoutMs: CONVERT_TIMEOUT_MS,
  });
}
