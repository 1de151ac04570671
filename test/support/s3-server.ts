/** A server that speaks as S3 does, on loopback, with all it holds in its memory; null where it cannot be installed. */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { CreateBucketCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import { findS3Server } from '../clients/packages.js';
import { freePort } from './free-port.js';

export const S3_KEYS = { accessKeyId: 'test', secretAccessKey: 'test-secret' };
const START_MS = 30_000;

export class S3Server {
  private constructor(
    private readonly child: ChildProcess,
    readonly port: number,
  ) {}

  static async start(): Promise<S3Server | null> {
    const program = await findS3Server();
    if (program === null) return null;
    const port = await freePort();
    const child = spawn(program, ['-H', '127.0.0.1', '-p', String(port)], { stdio: 'ignore' });
    const server = new S3Server(child, port);
    for (const deadlineMs = performance.now() + START_MS; performance.now() < deadlineMs; await sleep(100))
      if (await server.isUp()) return server;
    server.stop();
    throw new Error('the S3 server did not start');
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async newBucket(): Promise<string> {
    const name = `b-${randomUUID()}`;
    await this.asking((client) => client.send(new CreateBucketCommand({ Bucket: name })));
    return name;
  }

  /** Keys of all objects of a bucket. */
  objects(bucket: string): Promise<string[]> {
    return this.asking(async (client) => {
      const keys: string[] = [];
      let token: string | undefined;
      do {
        const page = await client.send(new ListObjectsV2Command({ Bucket: bucket, ContinuationToken: token }));
        for (const { Key } of page.Contents ?? []) if (Key !== undefined) keys.push(Key);
        token = page.NextContinuationToken;
      } while (token !== undefined);
      return keys;
    });
  }

  /** `SIGSTOP` makes it silent: connections stay, answers do not come. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.child.kill(signal);
  }

  stop(): void {
    this.child.kill('SIGKILL');
  }

  private isUp(): Promise<boolean> {
    return fetch(this.url).then(
      () => true,
      () => false,
    );
  }

  private async asking<T>(ask: (client: S3Client) => Promise<T>): Promise<T> {
    const client = new S3Client({
      endpoint: this.url,
      forcePathStyle: true,
      region: 'us-east-1',
      credentials: S3_KEYS,
    });
    try {
      return await ask(client);
    } finally {
      client.destroy();
    }
  }
}
