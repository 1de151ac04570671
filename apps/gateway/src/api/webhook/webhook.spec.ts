import { describe, expect, it } from '@jest/globals';
import { isTroupeError, type JobKind } from '@troupe/contracts';
import { CrawlDto } from '../v2/crawl.dto.js';
import { InvalidBodyError, type Issue } from '../validation/issue.js';
import { readBody } from '../validation/read-body.js';
import { webhookSpecFrom } from './webhook.mapper.js';

const URL_TEXT = 'https://h.example/hook';
const read = (webhook: unknown) => readBody(CrawlDto, { url: 'https://x.example', webhook }).body.webhook;
const specOf = (webhook: unknown, kind: JobKind = 'crawl') => webhookSpecFrom(read(webhook), kind);

function issuesOf(webhook: unknown): Issue[] {
  try {
    read(webhook);
    return [];
  } catch (error) {
    if (isTroupeError(error) && error instanceof InvalidBodyError) return error.issues;
    throw error;
  }
}

describe('the webhook of a body', () => {
  it('is none when none was sent', () => {
    expect(specOf(undefined)).toBeNull();
    expect(specOf(null)).toBeNull();
  });

  it('may be a mere address: no headers, no metadata, all events but cancelled', () => {
    expect(specOf(URL_TEXT)).toEqual({
      url: URL_TEXT,
      headers: {},
      metadata: '{}',
      events: ['started', 'page', 'completed', 'failed'],
    });
    expect(specOf({ url: URL_TEXT, headers: null, metadata: null, events: [] })).toEqual(specOf(URL_TEXT));
  });

  it('keeps metadata exactly, null and order included', () => {
    const metadata = { z: null, a: [1, null, { y: null }], b: 'ü' };
    expect(specOf({ url: URL_TEXT, metadata })!.metadata).toBe(JSON.stringify(metadata));
  });

  it('takes short and full names of events, and those of the other kind of job mean nothing', () => {
    const events = ['page', 'crawl.cancelled', 'batch_scrape.started'];
    expect(specOf({ url: URL_TEXT, events })!.events).toEqual(['page', 'cancelled']);
    expect(specOf({ url: URL_TEXT, events }, 'batch')!.events).toEqual(['started', 'page']);
    expect(specOf({ url: URL_TEXT, events: ['batch_scrape.page'] })!.events).toEqual([]);
  });

  it('is told of the events of its kind of job when none are named', () => {
    const specFor = (kind: JobKind) => webhookSpecFrom(URL_TEXT, kind)!.events;
    expect(specFor('extract')).toEqual(['started', 'completed', 'failed']);
    expect(specFor('agent')).toEqual(['started', 'action', 'completed', 'failed']);
  });

  it('takes headers that a delivery overrides', () => {
    const headers = { Host: 'a', 'Content-Length': '1', 'Content-Type': 'x', 'X-Firecrawl-Signature': 'y', A: 'b' };
    expect(specOf({ url: URL_TEXT, headers })!.headers).toEqual(headers);
  });

  it.each<[unknown, (string | number)[]]>([
    ['h.example', ['webhook']],
    ['ftp://h.example', ['webhook']],
    [`https://h.example/${'x'.repeat(2_100)}`, ['webhook']],
    [5, ['webhook']],
    [['https://h.example'], ['webhook']],
    [{}, ['webhook', 'url']],
    [{ url: 'nonsense' }, ['webhook', 'url']],
    [{ url: URL_TEXT, secret: 'x' }, ['webhook']],
    [{ url: URL_TEXT, events: ['pages'] }, ['webhook', 'events', 0]],
    [{ url: URL_TEXT, events: ['page', 'agent.action'] }, ['webhook', 'events', 1]],
    [{ url: URL_TEXT, events: [null] }, ['webhook', 'events', 0]],
    [{ url: URL_TEXT, events: 'page' }, ['webhook', 'events']],
    [{ url: URL_TEXT, headers: { a: 1 } }, ['webhook', 'headers', 'a']],
    [{ url: URL_TEXT, headers: { 'a b': 'x' } }, ['webhook', 'headers', 'a b']],
    [{ url: URL_TEXT, headers: { a: 'x\r\ny: z' } }, ['webhook', 'headers', 'a']],
    [{ url: URL_TEXT, headers: { 'Transfer-Encoding': 'chunked' } }, ['webhook', 'headers', 'Transfer-Encoding']],
    [{ url: URL_TEXT, headers: { a: 'x'.repeat(17_000) } }, ['webhook', 'headers']],
    [{ url: URL_TEXT, metadata: 'x' }, ['webhook', 'metadata']],
    [{ url: URL_TEXT, metadata: { a: 'ü'.repeat(4_200) } }, ['webhook', 'metadata']],
  ])('is refused: %j', (webhook, path) => {
    expect(issuesOf(webhook)).toMatchObject([{ path }]);
  });
});
