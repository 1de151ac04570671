import { availableParallelism } from 'node:os';
import { Module, type DynamicModule } from '@nestjs/common';
import type { Tracer } from '@troupe/contracts';
import { LocalConverter, MeteredConverter } from '@troupe/conversion';
import { Rpc } from '@troupe/messaging';
import { Metrics, type ServiceContext } from '@troupe/observability';
import { CONFIG, overNats, ServiceModule, TRACER, type Config } from '@troupe/service';
import { CONVERTER, ConvertResponder } from './convert.responder.js';
import { ConvertEndpoint, THREADS } from './convert.endpoint.js';

/** The converter: serves the `Converter` port over request/reply, with the same threads that fetchers use locally. */
@Module({
  providers: [
    ...overNats(Rpc),
    {
      provide: THREADS,
      inject: [CONFIG],
      useFactory: ({ converterThreads }: Config) => converterThreads || Math.max(1, availableParallelism() - 1),
    },
    {
      provide: LocalConverter,
      inject: [THREADS, CONFIG],
      useFactory: (threads: number, { ocrCommand }: Config) =>
        new LocalConverter({ threads, ocrCommand: ocrCommand ?? null }),
    },
    {
      provide: CONVERTER,
      inject: [LocalConverter, Metrics, TRACER],
      useFactory: (local: LocalConverter, metrics: Metrics, tracer: Tracer) =>
        new MeteredConverter(local, metrics, tracer),
    },
    ConvertResponder,
    ConvertEndpoint,
  ],
})
export class ConverterModule {
  static of(context: ServiceContext<Config>): DynamicModule {
    return { module: ConverterModule, imports: [ServiceModule.with(context, { member: 'converter' })] };
  }
}
