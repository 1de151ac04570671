/** Bodies of many pieces, sent no faster than the client reads them. */
import type { Response } from 'express';

/** Pieces below this are gathered. */
const FLUSH_BYTES = 64 * 1024;

/** Holds at most `FLUSH_BYTES` and one piece. Nothing is sent before the first flush, so that a failure can still be answered. */
export class PacedWriter {
  private parts: Buffer[] = [];
  private size = 0;

  constructor(
    private readonly response: Response,
    private readonly contentType: string,
  ) {}

  /** Sends the head of the answer before there is a body. */
  open(): void {
    this.begin();
    this.response.flushHeaders();
  }

  /** False when the client has gone. */
  async write(...parts: Buffer[]): Promise<boolean> {
    for (const part of parts) {
      this.parts.push(part);
      this.size += part.byteLength;
    }
    return this.size < FLUSH_BYTES || this.flush();
  }

  /** Sends what was gathered. False when the client has gone. */
  async flush(): Promise<boolean> {
    const { response } = this;
    if (response.destroyed) return false;
    this.begin();
    await this.send();
    return !response.destroyed;
  }

  /** Bytes that were never flushed are sent in one piece. */
  end(): void {
    const { response } = this;
    if (response.destroyed) return;
    if (!response.headersSent) response.setHeader('content-length', this.size);
    this.begin();
    response.end(Buffer.concat(this.parts, this.size));
  }

  private begin(): void {
    if (!this.response.headersSent) this.response.setHeader('content-type', this.contentType);
  }

  /**
   * Resolves when the last part has left, or the client is gone. Not by `drain`: with Node 22 a corked answer may say that it
   * needs one and never tell of it.
   */
  private send(): Promise<void> {
    const { response, parts } = this;
    const last = parts.pop();
    if (last === undefined) return Promise.resolve();
    this.parts = [];
    this.size = 0;
    return new Promise((resolve) => {
      const settle = () => {
        response.off('close', settle);
        resolve();
      };
      response.on('close', settle);
      response.cork();
      for (const part of parts) response.write(part);
      response.write(last, settle);
      response.uncork();
    });
  }
}
