/** A receiver of webhooks on loopback that keeps every request as raw bytes and misbehaves as its paths are told to. */
import { createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  raw: Buffer;
  event: WebhookEvent;
  /** Place in the order of arrival. */
  n: number;
}

export interface WebhookEvent {
  success: boolean;
  type: string;
  id: string;
  webhookId: string;
  data: { metadata: Record<string, unknown>; [key: string]: unknown }[];
  metadata: Record<string, unknown>;
  error: string | null;
}

/** Answers in place of a plain 200; `times` counts earlier requests with the same webhookId. */
export type Behaviour = (response: ServerResponse, event: WebhookEvent, times: number) => void | Promise<void>;

export class WebhookReceiver {
  readonly received: Received[] = [];
  /** Of connections, with or without a request. */
  connections = 0;
  /** Requests in work at once, at most. */
  peak = 0;
  private active = 0;
  private readonly behaviours = new Map<string, Behaviour>();
  private server: Server | null = null;
  private constructor(private port: number) {}

  static async start(): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver(0);
    await receiver.up();
    return receiver;
  }

  /** Listens, on the same port as before. */
  async up(): Promise<void> {
    const server = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => void this.answer(request.url ?? '/', request.headers, Buffer.concat(parts), response));
    });
    server.on('connection', () => this.connections++);
    await new Promise<void>((resolve) => server.listen(this.port, '127.0.0.1', resolve));
    this.port = (server.address() as AddressInfo).port;
    this.server = server;
  }

  async down(): Promise<void> {
    const { server } = this;
    this.server = null;
    server?.closeAllConnections();
    await new Promise((resolve) => (server === null ? resolve(null) : server.close(resolve)));
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  url(path: string): string {
    return `http://${this.address}${path}`;
  }

  behave(path: string, behaviour: Behaviour): string {
    this.behaviours.set(path, behaviour);
    return this.url(path);
  }

  at(path: string): Received[] {
    return this.received.filter((request) => request.path === path);
  }

  /** By webhookId, in the order of their first arrival. */
  events(path: string): Map<string, Received[]> {
    const events = new Map<string, Received[]>();
    for (const request of this.at(path)) {
      const { webhookId } = request.event;
      events.set(webhookId, [...(events.get(webhookId) ?? []), request]);
    }
    return events;
  }

  /** Resolves when the condition holds; rejects with what had arrived. */
  async until(path: string, what: (requests: Received[]) => boolean, timeoutMs = 30_000): Promise<Received[]> {
    const deadline = performance.now() + timeoutMs;
    for (;;) {
      const requests = this.at(path);
      if (what(requests)) return requests;
      if (performance.now() > deadline) throw new Error(`${path}: ${requests.map(({ event }) => event.type).join()}`);
      await sleep(50);
    }
  }

  private async answer(
    path: string,
    headers: IncomingHttpHeaders,
    raw: Buffer,
    response: ServerResponse,
  ): Promise<void> {
    const event = JSON.parse(raw.toString()) as WebhookEvent;
    const times = this.at(path).filter((earlier) => earlier.event.webhookId === event.webhookId).length;
    this.received.push({ path, headers, raw, event, n: this.received.length });
    this.peak = Math.max(this.peak, ++this.active);
    response.once('close', () => this.active--);
    await this.behaviours.get(path)?.(response, event, times);
    if (!response.headersSent && !response.destroyed) response.writeHead(200).end('ok');
  }
}

export function signatureOf(raw: Buffer, secret: string): string {
  return `sha256=${createHmac('sha256', secret).update(raw).digest('hex')}`;
}
