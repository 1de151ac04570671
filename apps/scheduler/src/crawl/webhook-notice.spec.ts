import { describe, expect, it } from '@jest/globals';
import type { WebhookSpec } from '@troupe/contracts';
import { failedPage, JobRun, linksTo, pageOf, startOfCrawl } from './job-run.fixture.js';

const WEBHOOK: WebhookSpec = { url: 'https://h.example/', headers: {}, metadata: '{}', events: ['page'] };
const ROOT = 'http://h.test/';
const LINKS = linksTo(...Array.from({ length: 30 }, (_, i) => `/p${i}`));

function crawl(webhook?: WebhookSpec): JobRun {
  const run = new JobRun('crawl');
  run.turn(startOfCrawl({ webhook }));
  return run;
}

const runAll = (run: JobRun): void => run.runAll((item) => pageOf(item, { outlinks: item.url === ROOT ? LINKS : [] }));

describe('what a job tells its delivery actor', () => {
  it('is nothing without a webhook', () => {
    const run = crawl();
    runAll(run);
    expect(run.told).toEqual([]);
  });

  it('is its start with everything a delivery needs, then pages, then its end with all of them', () => {
    const run = crawl(WEBHOOK);
    runAll(run);
    expect(run.told[0]).toEqual({
      type: 'JobEvent',
      event: 'started',
      job: 'j',
      jobNo: '1',
      team: 't',
      kind: 'crawl',
      webhook: WEBHOOK,
    });
    const upto = run.told.slice(1).map((event) => ('uptoOrd' in event ? event.uptoOrd : 0));
    expect(upto).toEqual([...upto].sort((a, b) => a - b));
    expect(run.told.at(-1)).toEqual({
      type: 'JobEvent',
      event: 'terminal',
      uptoOrd: 31,
      status: 'completed',
      error: null,
    });
    expect(run.told.filter(({ event }) => event !== 'pages')).toHaveLength(2);
  });

  it('is one message for the pages of a quarter of a second, and a timer for the last of them', () => {
    const run = crawl(WEBHOOK);
    runAll(run);
    const pages = run.told.filter(({ event }) => event === 'pages');
    expect(run.pages).toHaveLength(31);
    expect(pages.length).toBeLessThan(6);
  });

  it('is the cancel of a cancelled job, with the pages that were stored', () => {
    const run = crawl(WEBHOOK);
    run.turn({ type: 'Cancel', job: 'j' });
    expect(run.told.at(-1)).toMatchObject({ event: 'terminal', uptoOrd: 0, status: 'cancelled' });
    run.turn({ type: 'Cancel', job: 'j' });
    expect(run.told.filter(({ event }) => event === 'terminal')).toHaveLength(1);
  });
});

describe('a job that fetches pages for another one', () => {
  function child(): JobRun {
    const run = new JobRun('crawl');
    run.turn(startOfCrawl({ parent: 'extract/p' }));
    return run;
  }

  it('tells that one of its pages and its end, not of its start, and is not billed', () => {
    const run = child();
    runAll(run);
    expect([...run.listeners]).toEqual(['extract/p']);
    expect(new Set(run.told.map(({ event }) => event))).toEqual(new Set(['pages', 'terminal']));
    expect(run.told.at(-1)).toEqual({
      type: 'JobEvent',
      event: 'terminal',
      uptoOrd: 31,
      status: 'completed',
      error: null,
    });
    expect([run.billed, run.last.credits]).toEqual([[], 31]);
  });

  it('tells how many pages gave no document and why the first did not', () => {
    const run = child();
    run.runAll((item) =>
      item.url === ROOT ? pageOf(item, { outlinks: linksTo('/a', '/b') }) : failedPage(item, { message: 'gone' }),
    );
    expect(run.told.at(-1)).toMatchObject({
      uptoOrd: 1,
      lost: { pages: 2, reason: expect.stringMatching(/^http:\/\/h\.test\/[ab]: gone$/) },
    });
  });

  it('is told from a job of a client, which is billed and does not tell of lost pages', () => {
    const run = crawl(WEBHOOK);
    run.runAll((item) => failedPage(item));
    expect(run.told.at(-1)).not.toHaveProperty('lost');
    expect(run.billed.length).toBeGreaterThan(0);
  });
});
