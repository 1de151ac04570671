/** The HTTP API as a patient client uses it: it asks again while the cluster is being shot at. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { TestCluster } from '../support/cluster.js';
import { describeJob } from './evidence.js';

export type JobKind = 'crawl' | 'batch/scrape' | 'extract';

export interface JobStatus {
  status: string;
  total: number;
  completed: number;
  creditsUsed: number;
}

export interface ExtractStatus {
  status: string;
  data: unknown;
  /** Field path -> URLs, when they were asked for. */
  sources?: Record<string, string[]>;
  error?: string;
  tokensUsed: number;
  creditsUsed: number;
}

export interface PageDocument {
  markdown?: string;
  changeTracking?: { changeStatus: string; visibility: string };
  metadata: { sourceURL: string; url: string; statusCode: number; error?: string };
}

const PATIENCE_MS = 30_000;

export class JobClient {
  constructor(
    private readonly cluster: TestCluster,
    private readonly kind: JobKind = 'crawl',
  ) {}

  async start(body: object): Promise<string> {
    const { id } = await this.patiently<{ id: string }>('POST', `/v2/${this.kind}`, body);
    return id;
  }

  status(id: string): Promise<JobStatus> {
    return this.patiently<JobStatus>('GET', `/v2/${this.kind}/${id}?limit=1`);
  }

  cancel(id: string): Promise<unknown> {
    return this.patiently('DELETE', `/v2/${this.kind}/${id}`);
  }

  /** Rejects with a report of what the job waits for. */
  async end(id: string, timeoutMs: number): Promise<JobStatus> {
    const deadline = performance.now() + timeoutMs;
    for (;;) {
      const status = await this.status(id);
      if (status.status !== 'scraping') return status;
      if (performance.now() > deadline) {
        const report = await describeJob(this.cluster, id);
        throw new Error(
          `job ${id} did not end within ${timeoutMs / 1000} s: ${JSON.stringify({ ...status, data: 0 })}\n${report}`,
        );
      }
      await sleep(250);
    }
  }

  /** As `end`, of an extract job. */
  async extractEnd(id: string, timeoutMs: number): Promise<ExtractStatus> {
    const deadline = performance.now() + timeoutMs;
    for (;;) {
      const status = await this.patiently<ExtractStatus>('GET', `/v2/extract/${id}`);
      if (status.status !== 'processing') return status;
      if (performance.now() > deadline) {
        throw new Error(`extract ${id} did not end within ${timeoutMs} ms\n${await describeJob(this.cluster, id)}`);
      }
      await sleep(250);
    }
  }

  /** All documents, page of results by page of results. */
  async documents(id: string): Promise<PageDocument[]> {
    const found: PageDocument[] = [];
    let next: string | undefined = `/v2/${this.kind}/${id}`;
    while (next !== undefined) {
      const page: { data: PageDocument[]; next?: string } = await this.patiently('GET', next);
      found.push(...page.data);
      next = page.next;
    }
    return found;
  }

  /** Connection errors and 5xx are what a client sees of a crash: it asks again. */
  private async patiently<T>(method: string, path: string, body?: object): Promise<T> {
    const deadline = performance.now() + PATIENCE_MS;
    for (;;) {
      const answer = await this.request(method, path, body).catch((error: unknown) => ({
        status: 599,
        text: String(error),
      }));
      if (answer.status < 300) return JSON.parse(answer.text) as T;
      if (answer.status < 500 || performance.now() > deadline)
        throw new Error(`${method} ${path}: ${answer.status} ${answer.text.slice(0, 500)}`);
      await sleep(200);
    }
  }

  private async request(method: string, path: string, body?: object): Promise<{ status: number; text: string }> {
    const response = await fetch(path.startsWith('http') ? path : this.cluster.url + path, {
      method,
      headers: { authorization: `Bearer ${this.cluster.apiKey}`, 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(20_000),
    });
    return { status: response.status, text: await response.text() };
  }
}
