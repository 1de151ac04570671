/** One WebSocket, written to no faster than its client reads. */
import type { WebSocket } from 'ws';
import { type CloseMessage } from './close-message.js';

/** Bytes waiting for a slow client. Above this the sender waits too. */
const HIGH_WATER_BYTES = 64 * 1024;

/** Thrown when a message is sent to a client that has gone. */
export class WatcherGoneError extends Error {
  constructor() {
    super('the watcher closed the connection');
    this.name = 'WatcherGoneError';
  }
}

export class WatchSocket {
  /** Aborts when the connection is closed from either side. */
  readonly signal: AbortSignal;
  private isAlive = true;
  private isMidMessage = false;

  constructor(private readonly socket: WebSocket) {
    const gone = new AbortController();
    this.signal = gone.signal;
    socket.on('close', () => gone.abort());
    socket.on('pong', () => (this.isAlive = true));
    // The close event follows every error of the connection.
    socket.on('error', () => undefined);
  }

  /** A text message, or a part of one: `isLast` ends it. @throws WatcherGoneError */
  async send(text: string | Uint8Array, isLast = true): Promise<void> {
    const { socket } = this;
    if (socket.readyState !== socket.OPEN) throw new WatcherGoneError();
    const options = { binary: false, fin: isLast };
    this.isMidMessage = !isLast;
    if (socket.bufferedAmount < HIGH_WATER_BYTES) socket.send(text, options);
    else await this.sent(text, options);
  }

  close({ frame, code, reason }: CloseMessage): void {
    const { socket } = this;
    if (socket.readyState !== socket.OPEN) return;
    if (frame !== null && !this.isMidMessage) socket.send(frame);
    socket.close(code, reason);
  }

  /** Ends the connection when the client was silent since the last call. */
  probe(): void {
    if (!this.isAlive) return this.socket.terminate();
    this.isAlive = false;
    this.socket.ping();
  }

  terminate(): void {
    this.socket.terminate();
  }

  /** A client that reads its messages is alive, even when its pong is still behind them. */
  private sent(text: string | Uint8Array, options: { binary: boolean; fin: boolean }): Promise<void> {
    return new Promise((resolve, reject) => {
      this.socket.send(text, options, (error) => {
        if (error) return reject(new WatcherGoneError());
        this.isAlive = true;
        resolve();
      });
    });
  }
}
