/** Crawls from start to the last document, for specs that look at results. */
import { ApiClient } from '../support/api-client.js';
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

const END_TIMEOUT_MS = 120_000;

export class CrawlClient {
  private readonly api: ApiClient;

  constructor({ url, apiKey }: Pick<TestCluster, 'url' | 'apiKey'>) {
    this.api = new ApiClient(url, apiKey);
  }

  /** Starts a crawl and waits for its end. */
  async crawl(options: object, timeoutMs = END_TIMEOUT_MS): Promise<FinishedJob> {
    const id = await this.startCrawl(options);
    await this.waitForEnd(id, timeoutMs);
    return { id, status: await this.readAll(id), errors: await this.get(`/v2/crawl/${id}/errors`) };
  }

  async startCrawl(options: object): Promise<string> {
    return (await this.call<{ id: string }>('POST', '/v2/crawl', options)).id;
  }

  async waitForEnd(id: string, timeoutMs = END_TIMEOUT_MS): Promise<void> {
    await this.api.finished(`/v2/crawl/${id}?limit=1`, timeoutMs);
  }

  /** All results, page by page as `next` leads. */
  async readAll(id: string): Promise<JobStatus> {
    const first = await this.get<JobStatus>(`/v2/crawl/${id}`);
    for (let { next } = first; next !== undefined;) {
      const more = await this.get<JobStatus>(next);
      first.data.push(...more.data);
      next = more.next;
    }
    return first;
  }

  get<T>(path: string): Promise<T> {
    return this.call('GET', path);
  }

  /** @throws Error for every answer but 200 */
  async call<T>(method: string, path: string, json?: unknown): Promise<T> {
    const { status, body, text } = await this.api.call(path, { method, json });
    if (status !== 200) throw new Error(`${method} ${path} answered ${status}: ${text.slice(0, 2000)}`);
    return body as T;
  }
}
