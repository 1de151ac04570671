/** Just enough of the HTTP API for specs that look at results; requests with the cluster's key. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { TestCluster } from '../support/cluster.js';

export interface Document {
  markdown?: string;
  html?: string;
  rawHtml?: string;
  links?: string[];
  metadata: {
    sourceURL: string;
    url: string;
    statusCode: number;
    scrapeId: string;
    error?: string;
    [key: string]: unknown;
  };
}

export interface JobStatus {
  success: boolean;
  status: 'scraping' | 'completed' | 'failed' | 'cancelled';
  total: number;
  completed: number;
  creditsUsed: number;
  next?: string;
  error?: string;
  warning?: string;
  data: Document[];
}

export interface JobErrors {
  errors: { id: string; timestamp: string; url: string; code?: string; error: string }[];
  robotsBlocked: string[];
}

export interface FinishedJob {
  id: string;
  /** The status record of the end, its `data` complete. */
  status: JobStatus;
  errors: JobErrors;
}

const POLL_MS = 200;

export class ApiClient {
  constructor(private readonly cluster: Pick<TestCluster, 'url' | 'apiKey'>) {}

  async call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await fetch(path.startsWith('http') ? path : this.cluster.url + path, {
      method,
      headers: { authorization: `Bearer ${this.cluster.apiKey}`, 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text.slice(0, 2000)}`);
    return JSON.parse(text) as T;
  }

  async startCrawl(body: object): Promise<string> {
    return (await this.call<{ id: string }>('POST', '/v2/crawl', body)).id;
  }

  /** Starts a crawl and waits for its end. */
  async crawl(body: object, timeoutMs = 120_000): Promise<FinishedJob> {
    return this.finish(await this.startCrawl(body), timeoutMs);
  }

  async finish(id: string, timeoutMs = 120_000): Promise<FinishedJob> {
    await this.waitForEnd(id, timeoutMs);
    return { id, status: await this.readAll(id), errors: await this.call('GET', `/v2/crawl/${id}/errors`) };
  }

  async waitForEnd(id: string, timeoutMs: number): Promise<void> {
    const deadlineMs = performance.now() + timeoutMs;
    for (;;) {
      const { status, completed, total } = await this.call<JobStatus>('GET', `/v2/crawl/${id}?limit=1`);
      if (status !== 'scraping') return;
      if (performance.now() > deadlineMs) throw new Error(`crawl ${id} still runs: ${completed} of ${total}`);
      await sleep(POLL_MS);
    }
  }

  /** All results, page by page as `next` leads. */
  async readAll(id: string): Promise<JobStatus> {
    const first = await this.call<JobStatus>('GET', `/v2/crawl/${id}`);
    for (let { next } = first; next !== undefined;) {
      const more = await this.call<JobStatus>('GET', next);
      first.data.push(...more.data);
      next = more.next;
    }
    return first;
  }
}
