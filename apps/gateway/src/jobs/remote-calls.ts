import { Inject, Injectable } from '@nestjs/common';
import { NatsLink, Rpc } from '@troupe/messaging';
import { unavailable } from '../errors/api-error.js';
import { type Link } from './ports.js';

/** Request and reply with fetchers and extractors. */
@Injectable()
export class RemoteCalls {
  constructor(
    @Inject(Rpc) private readonly rpc: Pick<Rpc, 'call'>,
    @Inject(NatsLink) private readonly link: Link,
  ) {}

  /** Called before work that a remote call must end. @throws ApiError 503 while no service can be called */
  ensureUp(): void {
    if (!this.link.isUp()) throw unavailable(null);
  }

  call<Head>(...asked: Parameters<Rpc['call']>) {
    return this.rpc.call<Head>(...asked);
  }
}
