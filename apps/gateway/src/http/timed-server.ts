/** Express on a server that cuts off clients whose requests never end. */
import { createServer, type RequestListener, type Server } from 'node:http';
import { ExpressAdapter } from '@nestjs/platform-express';

/** Limit of a whole request: 10 MB over a slow line. */
const REQUEST_TIMEOUT_MS = 300_000;
/** How exactly the times are kept. */
const MAX_CHECK_MS = 1_000;

export interface ServerTimes {
  /** Limit of a request's head, from its first byte to its last. A byte now and then does not extend it. */
  headersTimeoutMs: number;
}

export function createTimedServer(listener: RequestListener, { headersTimeoutMs }: ServerTimes): Server {
  const times = {
    headersTimeout: headersTimeoutMs,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionsCheckingInterval: Math.min(MAX_CHECK_MS, headersTimeoutMs),
  };
  return createServer(times, listener);
}

export class TimedExpress extends ExpressAdapter {
  constructor(private readonly times: ServerTimes) {
    super();
  }

  override initHttpServer(): void {
    this.setHttpServer(createTimedServer(this.getInstance<RequestListener>(), this.times));
  }
}
