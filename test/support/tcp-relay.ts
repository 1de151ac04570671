/** A way to a server of loopback that a test can cut, silence, slow down and mend. */
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** The side that is not heard: what clients send, what the server sends, or both. */
export type Silence = 'clients' | 'server' | 'both';

export interface Slowness {
  /** Added to each way. */
  latencyMs: number;
  /** Rate of each connection and way. @default as many as there are */
  bytesPerSecond?: number;
}

/** Bytes that a client or the server has sent, in order; null: it has sent its last. */
interface Piece {
  bytes: Buffer | null;
  dueMs: number;
}

/** Bytes under way in one direction of a connection at most, before its sender has to wait. */
const WINDOW_BYTES = 1_000_000;

export class TcpRelay {
  private server: Server | null = null;
  private readonly streams = new Set<Stream>();
  private silence: Silence | null = null;
  private slowness: Slowness = { latencyMs: 0 };

  private constructor(
    private readonly target: number,
    private port = 0,
  ) {}

  /** @param target port of the server */
  static async start(target: number): Promise<TcpRelay> {
    const relay = new TcpRelay(target);
    await relay.listen();
    return relay;
  }

  /** To the server of an address with a scheme and a port. */
  static startTo(address: string): Promise<TcpRelay> {
    return TcpRelay.start(Number(new URL(address).port));
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** The address of the server, with its credentials, by way of this relay. */
  addressOf(server: string): string {
    const url = new URL(server);
    url.host = `127.0.0.1:${this.port}`;
    return url.href;
  }

  /** Connections end, and new ones are refused, as when the server is gone. */
  async cut(): Promise<void> {
    const { server } = this;
    if (server === null) return;
    this.server = null;
    const closed = new Promise((resolve) => server.close(resolve));
    for (const stream of this.streams) stream.destroy();
    await closed;
  }

  /**
   * Nothing passes any more, not even the end of a connection, and neither end is told. New connections are accepted, as by the
   * kernel of a machine whose program stands still, and not answered. Bytes sent meanwhile are kept for `mend`, as TCP does.
   */
  silent(who: Silence): void {
    this.silence = who;
  }

  slow(slowness: Slowness): void {
    this.slowness = slowness;
  }

  /** Everything passes as it comes. What was kept arrives late, also from connections that their clients have given up. */
  async mend(): Promise<void> {
    this.silence = null;
    this.slowness = { latencyMs: 0 };
    if (this.server === null) await this.listen();
    for (const stream of this.streams) stream.move();
  }

  /** On the same port as before. */
  private async listen(): Promise<void> {
    const server = createServer({ allowHalfOpen: true }, (socket) => this.join(socket));
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.port, '127.0.0.1', resolve);
    });
    this.port = (server.address() as AddressInfo).port;
    this.server = server;
  }

  private join(near: Socket): void {
    const far = connect({ port: this.target, host: '127.0.0.1', allowHalfOpen: true });
    this.lead(near, far, 'clients');
    this.lead(far, near, 'server');
  }

  private lead(from: Socket, to: Socket, who: Silence): void {
    const terms = {
      isSilent: () => this.silence === 'both' || this.silence === who,
      slowness: () => this.slowness,
    };
    const stream = new Stream(from, to, terms);
    this.streams.add(stream);
    from.once('close', () => stream.end());
    to.once('close', () => this.streams.delete(stream));
  }
}

/** One direction of a connection. */
class Stream {
  private readonly pieces: Piece[] = [];
  private bytes = 0;
  private lastDueMs = 0;
  private timer: NodeJS.Timeout | null = null;
  private hasEnded = false;

  constructor(
    private readonly from: Socket,
    private readonly to: Socket,
    private readonly terms: { isSilent(): boolean; slowness(): Slowness },
  ) {
    from.on('data', (bytes) => this.take(bytes));
    from.once('end', () => this.end());
    // Says `close` next.
    from.on('error', () => undefined);
    to.on('drain', () => from.resume());
  }

  destroy(): void {
    this.from.destroy();
    this.to.destroy();
  }

  /** The sender has said its last, or is gone. */
  end(): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.pieces.push({ bytes: null, dueMs: this.dueMs(0) });
    this.move();
  }

  private take(bytes: Buffer): void {
    this.bytes += bytes.length;
    this.pieces.push({ bytes, dueMs: this.dueMs(bytes.length) });
    if (this.bytes > WINDOW_BYTES) this.from.pause();
    this.move();
  }

  private dueMs(bytes: number): number {
    const { latencyMs, bytesPerSecond } = this.terms.slowness();
    const sendingMs = bytesPerSecond === undefined ? 0 : (bytes / bytesPerSecond) * 1000;
    this.lastDueMs = Math.max(performance.now() + latencyMs, this.lastDueMs) + sendingMs;
    return this.lastDueMs;
  }

  /** Sends what is due. */
  move(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    while (this.pieces.length > 0 && !this.terms.isSilent()) {
      const restMs = this.pieces[0]!.dueMs - performance.now();
      if (restMs > 0) {
        this.timer = setTimeout(() => this.move(), Math.ceil(restMs));
        return;
      }
      this.pass(this.pieces.shift()!);
    }
    if (this.bytes < WINDOW_BYTES && !this.to.writableNeedDrain) this.from.resume();
  }

  private pass({ bytes }: Piece): void {
    if (bytes === null) {
      // A sender that is gone waits for no answer.
      if (this.from.destroyed) this.to.destroy();
      else this.to.end();
      return;
    }
    this.bytes -= bytes.length;
    if (!this.to.destroyed && !this.to.write(bytes)) this.from.pause();
  }
}
