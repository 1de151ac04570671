/** `crawl`, `scrape` and `map` of the command line: done through the HTTP API, as any client does. */
import { EXIT } from './failure.mjs';
import { PageWriter } from './pages.mjs';
import { endProgress, progress, say } from './say.mjs';

/** @typedef {{ url: string, apiKey: string }} Running */
/** @typedef {import('./arguments.mjs').Arguments} Arguments */

const POLL_MS = 500;
/** Answers of the gateway that a restart or a busy moment explains. */
const PASSING = new Set([408, 429, 502, 503, 504]);

class ApiError extends Error {
  /** @param {number} status @param {any} body */
  constructor(status, body) {
    super(`${body?.error ?? 'no reason given'}${body?.code ? ` (${body.code})` : ''}, status ${status}`);
    this.status = status;
  }
}

/** @param {Running} running @param {string} path or an absolute URL @param {object} [body] @returns {Promise<any>} */
async function call(running, path, body) {
  const response = await fetch(new URL(path, running.url), {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${running.apiKey}`, 'content-type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const answer = await response.json().catch(() => null);
  if (!response.ok || answer?.success === false) throw new ApiError(response.status, answer);
  return answer;
}

/** Reading again is harmless, so a gateway that is just being restarted is waited for. @param {Running} running @param {string} path */
async function read(running, path) {
  for (let attempt = 0; ; attempt++) {
    try {
      return await call(running, path);
    } catch (error) {
      const isPassing = !(error instanceof ApiError) || PASSING.has(error.status);
      if (!isPassing || attempt >= 20) throw error;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }
}

/** @param {Arguments} args @param {Running} running @returns {Promise<number>} exit code */
export async function runJob(args, running) {
  const jobs = { crawl: runCrawl, scrape: runScrape, map: runMap };
  try {
    return await jobs[/** @type {keyof typeof jobs} */ (args.command)](args, running);
  } catch (error) {
    say(`${args.command} of ${args.url} failed: ${error instanceof Error ? error.message : error}`);
    return EXIT.jobFailed;
  }
}

/** @param {Arguments} args */
function formatsOf(args) {
  return args.format === 'json' ? ['markdown', 'html', 'links'] : [args.format];
}

/** @param {Arguments} args @param {Running} running */
async function runScrape(args, running) {
  const { data } = await call(running, '/v2/scrape', { url: args.url, formats: formatsOf(args) });
  const writer = new PageWriter(args);
  writer.write(data);
  if (args.out !== null) say(`wrote ${writer.count} page to ${args.out}`);
  return EXIT.ok;
}

/** @param {Arguments} args @param {Running} running */
async function runMap(args, running) {
  const { links } = await call(running, '/v2/map', {
    url: args.url,
    ...(args.limit === null ? {} : { limit: args.limit }),
  });
  new PageWriter(args).writeList(links.map((/** @type {{ url: string }} */ link) => link.url));
  say(`${links.length} URLs`);
  return EXIT.ok;
}

/** Cancels the job when this process is asked to end. @param {Running} running @param {string} id */
function cancelOnSignal(running, id) {
  const cancel = () => {
    const headers = { authorization: `Bearer ${running.apiKey}` };
    void fetch(new URL(`/v2/crawl/${id}`, running.url), { method: 'DELETE', headers })
      .catch(() => undefined)
      .finally(() => process.exit(EXIT.interrupted));
  };
  if (process.listenerCount('SIGINT') > 0) return;
  process.once('SIGINT', cancel);
  process.once('SIGTERM', cancel);
}

/** @param {Arguments} args @param {Running} running */
async function runCrawl(args, running) {
  const limit = args.limit === null ? {} : { limit: args.limit };
  const { id } = await call(running, '/v2/crawl', {
    url: args.url,
    ...limit,
    scrapeOptions: { formats: formatsOf(args) },
  });
  cancelOnSignal(running, id);
  const writer = new PageWriter(args);
  const startedMs = performance.now();
  let path = `/v2/crawl/${id}?skip=0`;
  for (;;) {
    const page = await read(running, path);
    page.data.forEach((/** @type {any} */ document) => writer.write(document));
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
    progress(
      `troupe    | ${page.status}: ${page.completed} of ${page.total} pages, ${writer.count} written, ${seconds} s`,
    );
    if (page.next === undefined || page.next === null) return endCrawl(page, writer, args);
    const next = new URL(page.next);
    path = `${next.pathname}${next.search}`;
    if (page.data.length === 0) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** @param {any} page last answer @param {PageWriter} writer @param {Arguments} args */
function endCrawl(page, writer, args) {
  endProgress();
  if (page.warning) say(page.warning);
  if (args.out !== null) say(`wrote ${writer.count} pages to ${args.out}`);
  if (page.status === 'completed') return EXIT.ok;
  say(`the crawl ended as ${page.status}${page.error ? `: ${page.error}` : ''}`);
  return EXIT.jobFailed;
}
