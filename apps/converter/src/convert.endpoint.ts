import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { RPC } from '@troupe/contracts';
import { LocalConverter } from '@troupe/conversion';
import { Rpc, type RpcServer } from '@troupe/messaging';
import { ConvertResponder } from './convert.responder.js';

/** Worker threads of this process. */
export const THREADS = Symbol('threads');

/** Pages in work or waiting per thread: enough to hide the way over the bus, few enough that another replica helps. */
const PAGES_PER_THREAD = 4;

/** Serves `rpc.convert` while the process lives. The threads end when all accepted requests are answered. */
@Injectable()
export class ConvertEndpoint implements OnApplicationBootstrap, OnModuleDestroy {
  private server: RpcServer | null = null;

  constructor(
    @Inject(Rpc) private readonly rpc: Rpc,
    @Inject(ConvertResponder) private readonly responder: ConvertResponder,
    @Inject(LocalConverter) private readonly converter: LocalConverter,
    @Inject(THREADS) private readonly threads: number,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    const capacity = this.threads * PAGES_PER_THREAD;
    this.server = await this.rpc.serve(RPC.convert, { queue: 'converter', capacity }, (head, body, signal, trace) =>
      this.responder.convert(head, body, signal, trace),
    );
  }

  async onModuleDestroy(): Promise<void> {
    await this.server?.stop();
    await this.converter.stop();
  }
}
