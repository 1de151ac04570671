import { describe, expect, it } from '@jest/globals';
import { isUuid } from '../ids.js';
import { endEventOf, eventAt, placeOf, webhookIdOf, meansEvent } from './webhook-spec.js';

describe('webhookIdOf', () => {
  it('is the UUIDv5 of RFC 9562: the DNS name space and www.example.com give the known value', () => {
    // webhookIdOf takes numbers only; the algorithm is the same for any name.
    const named = webhookIdOf as unknown as (namespace: string, name: string) => string;
    expect(named('6ba7b810-9dad-11d1-80b4-00c04fd430c8', 'www.example.com')).toBe(
      '2ed6657d-e927-568b-95e1-2665a8aea6a2',
    );
  });

  it('differs by job and by event, and never changes', () => {
    const job = '6f0c0000-0000-4000-8000-000000000001';
    const other = '6f0c0000-0000-4000-8000-000000000002';
    const ids = [webhookIdOf(job, 0), webhookIdOf(job, 1), webhookIdOf(other, 0)];
    expect(new Set(ids).size).toBe(3);
    expect(ids.every(isUuid)).toBe(true);
    expect(webhookIdOf(job, 1)).toBe(ids[1]);
  });
});

describe('placeOf', () => {
  it('counts pages on behind every end of the job', () => {
    const ends = [2, 2, 4];
    expect([0, 1, 2].map((nth) => endEventOf(ends, nth))).toEqual([3, 4, 7]);
    const end = (nth: number) => ({ what: 'end', nth });
    const page = (ord: number) => ({ what: 'page', ord });
    const places = [{ what: 'start' }, page(1), page(2), end(0), end(1), page(3), page(4), end(2), page(5)];
    expect(places.map((_, eventNo) => placeOf(eventNo, ends))).toEqual(places);
    expect(placeOf(7, [])).toEqual(page(7));
  });

  it('tells a mark from an end; the numbers are the same', () => {
    expect(placeOf(3, [2, 4], { 0: 'action' })).toEqual({ what: 'mark', event: 'action' });
    expect(placeOf(6, [2, 4], { 0: 'action' })).toEqual({ what: 'end', nth: 1 });
    const log = { kind: 'crawl', ends: [2, 4], end: { status: 'failed', error: null } } as const;
    expect([0, 1, 3, 6].map((no) => eventAt(log, no))).toEqual(['started', 'page', 'completed', 'failed']);
    expect([3, 6].map((no) => eventAt({ ...log, marks: { 1: 'action' } }, no))).toEqual(['failed', 'action']);
  });
});

describe('a word of a list of events', () => {
  it.each(['monitor.check.completed', 'check.completed', 'completed'])('%s means monitor.check.completed', (word) => {
    expect(meansEvent(word, 'monitor.check.completed')).toBe(true);
  });

  it.each(['monitor', 'check', 'monitor.check', 'leted', 'crawl.completed'])('%s does not', (word) => {
    expect(meansEvent(word, 'monitor.check.completed')).toBe(false);
  });

  it.each(['crawl.page', 'page'])('%s means crawl.page', (word) => expect(meansEvent(word, 'crawl.page')).toBe(true));
});
