/** The published Python SDK, called from a spec; see python_driver.py for what travels. */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { createInterface } from 'node:readline';
import path from 'node:path';
import { workspace } from '../support/cluster.js';

const DRIVER = path.join(workspace, 'test/clients/python_driver.py');

/** An exception of the SDK. */
export class PythonError extends Error {
  constructor(
    /** Names of its classes, the nearest first. */
    readonly types: string[],
    message: string,
    readonly status: number | null,
    readonly code: string | null,
  ) {
    super(message);
  }
}

export interface WatchedJob<Document> {
  documents: Document[];
  done: number;
  errors: unknown[];
  /** v2 only. */
  statuses?: string[];
  ended: boolean;
}

interface Answer {
  id: number;
  result?: unknown;
  error?: { types: string[]; message: string; status: number | null; code: string | null };
}

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

export class PythonClient {
  private readonly child: ChildProcessWithoutNullStreams;
  private readonly waiting = new Map<number, Waiting>();
  private nextId = 1;
  private said = '';

  /** @param env on top of this process's own */
  constructor(python: string, { url, apiKey }: { url: string; apiKey: string }, env: Record<string, string> = {}) {
    this.child = spawn(python, [DRIVER], {
      env: { ...process.env, FIRECRAWL_API_URL: url, FIRECRAWL_API_KEY: apiKey, ...env },
    });
    this.child.stderr.setEncoding('utf8').on('data', (text: string) => (this.said = (this.said + text).slice(-4000)));
    createInterface({ input: this.child.stdout }).on('line', (line) => this.settle(JSON.parse(line) as Answer));
    this.child.once('exit', (code) => this.failAll(new Error(`Python ended with ${code}: ${this.said}`)));
  }

  v2<T>(method: string, args: unknown[] = [], kwargs: object = {}): Promise<T> {
    return this.call('v2', method, args, kwargs);
  }

  v1<T>(method: string, args: unknown[] = [], kwargs: object = {}): Promise<T> {
    return this.call('v1', method, args, kwargs);
  }

  stop(): void {
    this.child.stdin.end();
    this.child.kill('SIGTERM');
  }

  /** @throws PythonError */
  private call<T>(client: 'v1' | 'v2', method: string, args: unknown[], kwargs: object): Promise<T> {
    const id = this.nextId++;
    const answer = new Promise<T>((resolve, reject) => this.waiting.set(id, { resolve: resolve, reject }));
    this.child.stdin.write(`${JSON.stringify({ id, client, method, args, kwargs })}\n`);
    return answer;
  }

  private settle({ id, result, error }: Answer): void {
    const waiting = this.waiting.get(id);
    this.waiting.delete(id);
    if (error === undefined) waiting?.resolve(result);
    else waiting?.reject(new PythonError(error.types, error.message, error.status, error.code));
  }

  private failAll(error: Error): void {
    for (const { reject } of this.waiting.values()) reject(error);
    this.waiting.clear();
  }
}
