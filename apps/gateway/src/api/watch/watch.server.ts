/**
 * WebSockets of clients that watch jobs, on the port of the HTTP API (docs/api/crawl.md, "WebSocket").
 *
 * Every upgrade on the path of a job is completed, and errors are told by the close code: clients cannot read the
 * answer to a refused upgrade. Any other upgrade, those of foreign pages among them, is offered back to HTTP, which
 * ignores the offer and answers the request.
 */
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { Inject, Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { type Logger } from '@troupe/observability';
import { CONFIG, LOG } from '@troupe/service';
import { WebSocketServer, type WebSocket } from 'ws';
import { Admission } from '../../auth/admission.js';
import { JobStatusService } from '../../jobs/job-status.service.js';
import { foreignPage, type PageRules } from '../../http/foreign-pages.js';
import { handBack } from './hand-back.js';
import { readHandshake, type Handshake } from './handshake.js';
import { watchJob } from './watch-job.js';
import { WatchSocket } from './watch-socket.js';

const PING_EVERY_MS = 30_000;
/** Clients send no messages of their own. */
const MAX_MESSAGE_BYTES = 4 * 1024;
/** Time for clients to answer the close of a gateway that drains. */
const CLOSE_PATIENCE_MS = 1_000;

@Injectable()
export class WatchServer implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MAX_MESSAGE_BYTES,
    handleProtocols: (protocols) => protocols.values().next().value ?? false,
  });
  private readonly watches = new Map<WatchSocket, Promise<void>>();
  private timer: NodeJS.Timeout | undefined;
  private isClosing = false;

  constructor(
    private readonly adapters: HttpAdapterHost,
    private readonly admission: Admission,
    private readonly status: JobStatusService,
    @Inject(LOG) private readonly log: Logger,
    @Inject(CONFIG) private readonly config: PageRules,
  ) {}

  onApplicationBootstrap(): void {
    const http = this.adapters.httpAdapter.getHttpServer() as Server;
    http.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      const isTaken = isWebSocket(request) && foreignPage(request, this.config) === null;
      const handshake = isTaken ? readHandshake(request) : null;
      if (handshake === null) handBack(http, { request, socket, head });
      else this.server.handleUpgrade(request, socket, head, (webSocket) => this.serve(webSocket, handshake));
    });
    this.timer = setInterval(() => this.probe(), PING_EVERY_MS);
  }

  /** The feeds are closed by now, so every watch closes by itself. A client that does not answer is cut off. */
  async beforeApplicationShutdown(): Promise<void> {
    this.isClosing = true;
    clearInterval(this.timer);
    const cut = setTimeout(() => this.cutAll(), CLOSE_PATIENCE_MS);
    await Promise.all(this.watches.values());
    clearTimeout(cut);
  }

  private serve(webSocket: WebSocket, handshake: Handshake): void {
    const socket = new WatchSocket(webSocket);
    const { admission, status, log } = this;
    const watch = watchJob(socket, handshake, { admission, status, log }).finally(() => this.watches.delete(socket));
    this.watches.set(socket, watch);
    if (this.isClosing) setTimeout(() => socket.terminate(), CLOSE_PATIENCE_MS);
  }

  private probe(): void {
    for (const socket of this.watches.keys()) socket.probe();
  }

  private cutAll(): void {
    for (const socket of this.watches.keys()) socket.terminate();
  }
}

function isWebSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket';
}
