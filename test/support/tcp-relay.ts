/** A way to a server of loopback that a test can cut and mend: for servers that lose what they hold when they are ended. */
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

export class TcpRelay {
  private server: Server | null = null;
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly target: number,
    private port = 0,
  ) {}

  /** @param target port of the server */
  static async start(target: number): Promise<TcpRelay> {
    const relay = new TcpRelay(target);
    await relay.mend();
    return relay;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Connections end, and new ones are refused, as when the server is gone. */
  async cut(): Promise<void> {
    const { server } = this;
    if (server === null) return;
    this.server = null;
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  /** On the same port as before. */
  async mend(): Promise<void> {
    const server = createServer((socket) => this.join(socket));
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.port, '127.0.0.1', resolve);
    });
    this.port = (server.address() as AddressInfo).port;
    this.server = server;
  }

  private join(near: Socket): void {
    const far = connect(this.target, '127.0.0.1');
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.sockets.add(one);
      one.on('error', () => other.destroy());
      one.once('close', () => {
        this.sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  }
}
