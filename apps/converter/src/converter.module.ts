import { Module, type DynamicModule } from '@nestjs/common';
import { RPC, type Tracer } from '@troupe/contracts';
import { LocalConverter, MeteredConverter } from '@troupe/conversion';
import { MemberBoard, NatsLink, Rpc, type RpcServer } from '@troupe/messaging';
import type { Metrics } from '@troupe/observability';
import { ConvertResponder } from './convert.responder.js';

export const RPC_SERVER = Symbol('RpcServer');

export interface ConverterSettings {
  instance: string;
  metrics: Metrics;
  tracer: Tracer;
  /** Worker threads, 0 = by cores. */
  threads: number;
  /** Program that recognises text in pictures; null: there is none. */
  ocrCommand: string | null;
  /** Pages taken from the bus at one time; the others go to the next replica. */
  capacity: number;
}

/** The converter: serves the `Converter` port over request/reply, with the same threads that fetchers use locally. */
@Module({})
export class ConverterModule {
  static forLink(link: NatsLink, settings: ConverterSettings): DynamicModule {
    const { instance, metrics, tracer, threads, ocrCommand, capacity } = settings;
    return {
      module: ConverterModule,
      providers: [
        { provide: NatsLink, useValue: link },
        { provide: LocalConverter, useFactory: () => new LocalConverter({ threads, ocrCommand }) },
        {
          provide: ConvertResponder,
          inject: [LocalConverter],
          useFactory: (converter: LocalConverter) =>
            new ConvertResponder(new MeteredConverter(converter, metrics, tracer)),
        },
        { provide: Rpc, useFactory: () => new Rpc(link) },
        {
          provide: RPC_SERVER,
          inject: [Rpc, ConvertResponder],
          useFactory: (rpc: Rpc, responder: ConvertResponder): Promise<RpcServer> =>
            rpc.serve(RPC.convert, { queue: 'converter', capacity }, (head, body, signal, trace) =>
              responder.convert(head, body, signal, trace),
            ),
        },
        {
          provide: MemberBoard,
          useFactory: async (): Promise<MemberBoard> => {
            const members = new MemberBoard(link);
            await members.start({ id: instance, kind: 'converter' });
            return members;
          },
        },
      ],
    };
  }
}
