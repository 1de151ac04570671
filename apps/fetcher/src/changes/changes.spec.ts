import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { PageDocument, ScrapeSpec } from '@troupe/contracts';
import { siteOf } from '@troupe/frontier';
import type { Snapshot } from '@troupe/persistence';
import { CACHED_SPEC } from '../cache/memory-cache.fixture.js';
import type { FetchedPage } from '../pages/page-fetcher.js';
import type { PageAnswer, PageQuestion } from '../models/page-models.js';
import { PageFinisher } from '../pages/page-finisher.js';
import { ChangeTracker } from './change-tracker.js';
import { DiffThread } from './diff-thread.js';
import { diffTexts } from './text-diff.js';
import { identityOf, isSameText } from './text-identity.js';

const TEXT = '# Prices\n\nApples cost one.\n\n- first\n- second\n';
const EARLIER = new Date(Date.UTC(2026, 0, 1));

describe('two texts are the same', () => {
  it.each([
    ['with other white space', TEXT.replace('Apples cost one.', 'Apples  cost\tone.').replaceAll('\n\n', '\n\n\n')],
    ['with other line breaks', TEXT.replace('Apples cost one.', 'Apples\ncost one.')],
    ['in another order', '- second\n- first\n\n# Prices\n\nApples cost one.'],
  ])('%s', (_, other) => {
    expect(isSameText(identityOf(TEXT), identityOf(other))).toBe(true);
  });

  it.each([
    ['with another word', TEXT.replace('one', 'two')],
    ['with a line more', `${TEXT}- third\n`],
    ['with words in another order', TEXT.replace('Apples cost one', 'one cost Apples')],
    ['when one is empty', ''],
  ])('but not %s', (_, other) => {
    expect(isSameText(identityOf(TEXT), identityOf(other))).toBe(false);
  });
});

describe('differences', () => {
  it('are told as a unified diff and as its parts', () => {
    expect(diffTexts('a\nb\nc', 'a\nB\nc\n', 1000)).toEqual({
      text: '@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n',
      json: {
        files: [
          {
            from: null,
            to: null,
            chunks: [
              {
                content: '@@ -1,3 +1,3 @@',
                changes: [
                  { type: 'normal', normal: true, ln1: 1, ln2: 1, content: ' a' },
                  { type: 'del', del: true, ln: 2, content: '-b' },
                  { type: 'add', add: true, ln: 2, content: '+B' },
                  { type: 'normal', normal: true, ln1: 3, ln2: 3, content: ' c' },
                ],
              },
            ],
          },
        ],
      },
    });
  });

  describe('in a thread', () => {
    const thread = new DiffThread();
    afterAll(() => thread.stop());

    it('come one after another', async () => {
      const diffs = await Promise.all(['b', 'c', 'd'].map((text) => thread.compare('a', text)));
      expect(diffs.map((diff) => diff?.text.split('\n')[2])).toEqual(['+b', '+c', '+d']);
    });

    it('are given up when the texts are too long or too different, and the next come all the same', async () => {
      const lines = (word: string) => Array.from({ length: 40_000 }, (_, i) => `${word}${i}`).join('\n');
      const [tooLong, tooDifferent, next] = await Promise.all([
        thread.compare('x'.repeat(2_000_000), 'y'),
        thread.compare(lines('a'), lines('b')),
        thread.compare('a', 'b'),
      ]);
      expect([tooLong, tooDifferent]).toEqual([null, null]);
      expect(next?.text).toContain('+b');
    }, 20_000);
  });
});

describe('change tracking', () => {
  let before: Snapshot | null;
  let written: unknown[];
  let blobs: Map<string, Buffer>;
  let isAway: boolean;
  let diffs: boolean;
  let tracker: ChangeTracker;
  let asked: { question: PageQuestion; previous: string | undefined }[];
  let named: Partial<PageAnswer>;

  beforeEach(() => {
    before = null;
    written = [];
    blobs = new Map();
    isAway = false;
    diffs = true;
    asked = [];
    named = { changes: { price: { previous: 'two', current: 'one' } } };
    tracker = new ChangeTracker({
      history: {
        replace: async (key, scrape, now) => {
          if (isAway) throw new Error('no Postgres');
          written.push({ key, scrape, ...now });
          return before;
        },
        find: async () => before,
      },
      blobs: {
        put: async (bytes) => {
          blobs.set('new', Buffer.from(bytes));
          return 'new';
        },
        get: async (key) => blobs.get(key) ?? Promise.reject(new Error('gone')),
      },
      differ: { compare: async (a, b) => (diffs ? diffTexts(a, b, 1000) : null) },
      config: { changeHistoryHours: 24 },
      log: { warn: () => undefined },
    });
  });

  const earlier = (text: string): Snapshot => {
    blobs.set('old', gzipSync(text));
    return { at: EARLIER, hash: identityOf(text), blob: 'old' };
  };

  async function track(
    more: {
      spec?: Partial<ScrapeSpec>;
      document?: Partial<PageDocument>;
      page?: Partial<FetchedPage>;
      isPacked?: boolean;
      fromHistory?: boolean;
    } = {},
  ) {
    const json = Buffer.from(JSON.stringify({ markdown: TEXT, metadata: { statusCode: 200 }, ...more.document }));
    const page = {
      statusCode: 200,
      document: more.isPacked ? gzipSync(json) : json,
      documentBytes: json.length,
      ...more.page,
    } as FetchedPage;
    const spec: ScrapeSpec = {
      ...CACHED_SPEC,
      changeTracking: { tag: 'daily', diff: true, diffShape: 'string', json: null },
      ...more.spec,
    };
    const models = {
      ask: async (question: PageQuestion, { previous }: { previous?: string }) => {
        asked.push({ question, previous });
        return { parts: {}, tokens: 30, warnings: [], failures: [], ...named };
      },
    };
    const { fromHistory } = more;
    const scrape = { team: 'team', url: 'http://site.test/a#top', scrape: 'id', spec, fromHistory };
    const limits = { leftMs: 1000, signal: new AbortController().signal };
    const result = await new PageFinisher({ changes: tracker, models }).finish(page, scrape, limits);
    const bytes = more.isPacked ? gunzipSync(result.document) : result.document;
    return { page, result, document: JSON.parse(Buffer.from(bytes).toString()) as PageDocument };
  }

  it('leaves a page alone that is not to be compared', async () => {
    const { page, result } = await track({ spec: { changeTracking: null } });
    expect(result).toBe(page);
  });

  it('puts a first scrape into the history', async () => {
    const { document, result } = await track();
    expect(document.changeTracking).toEqual({ previousScrapeAt: null, changeStatus: 'new', visibility: 'visible' });
    expect(document.markdown).toBe(TEXT);
    expect(result.documentBytes).toBe(result.document.byteLength);
    expect(written).toMatchObject([{ key: { team: 'team', tag: 'daily' }, scrape: 'id', blob: 'new' }]);
    expect(written).toMatchObject([{ url: 'http://site.test/a', siteH: siteOf('http://other.site.test/') }]);
    expect(gunzipSync(blobs.get('new')!).toString()).toBe(TEXT);
  });

  it('tells the same from the changed, and how it changed', async () => {
    before = earlier(TEXT);
    const at = EARLIER.toISOString();
    expect((await track()).document.changeTracking).toMatchObject({ previousScrapeAt: at, changeStatus: 'same' });
    before = earlier(TEXT.replace('one', 'two'));
    const { document } = await track({ isPacked: true });
    expect(document.changeTracking).toMatchObject({
      changeStatus: 'changed',
      diff: expect.stringContaining('-Apples cost two.\n+Apples cost one.'),
    });
    const object = await track({
      spec: { changeTracking: { tag: null, diff: true, diffShape: 'object', json: null } },
    });
    expect(object.document.changeTracking?.diff).toMatchObject({ json: { files: [{ from: null }] } });
    const plain = await track({
      spec: { changeTracking: { tag: null, diff: false, diffShape: 'object', json: null } },
    });
    expect(plain.document.changeTracking).not.toHaveProperty('diff');
  });

  it('keeps error pages out of the history', async () => {
    before = earlier(TEXT);
    const gone = await track({ page: { statusCode: 404 } });
    expect(gone.document.changeTracking).toMatchObject({
      changeStatus: 'removed',
      previousScrapeAt: EARLIER.toISOString(),
    });
    const broken = await track({ page: { statusCode: 500 } });
    expect(broken.document).not.toHaveProperty('changeTracking');
    expect(broken.document.warning).toContain('500');
    expect(written).toEqual([]);
  });

  it.each([
    ['the same', {}, 'same'],
    ['gone', { page: { statusCode: 404 } }, 'removed'],
    ['another one', { document: { markdown: 'else' } }, 'changed'],
  ])('says of a page that a crawl has from its history that it is hidden when it is %s', async (_, more, status) => {
    before = earlier(TEXT);
    const { document } = await track({ ...more, fromHistory: true });
    expect(document.changeTracking).toMatchObject({ changeStatus: status, visibility: 'hidden' });
  });

  it('says what it could not do, before what was said already', async () => {
    before = earlier('something else');
    diffs = false;
    const differ = await track({ document: { warning: 'Earlier.' } });
    expect(differ.document.changeTracking).toMatchObject({ changeStatus: 'changed' });
    expect(differ.document.warning).toMatch(/changed too much.* Earlier\.$/);
    blobs.delete('old');
    expect((await track()).document.warning).toMatch(/not kept any more/);
    isAway = true;
    const away = await track();
    expect(away.document).not.toHaveProperty('changeTracking');
    expect(away.document.warning).toMatch(/not available/);
  });

  it('compares nothing of what may not be kept', async () => {
    const { document } = await track({ spec: { zeroRetention: true } });
    expect(document).not.toHaveProperty('changeTracking');
    expect(document.warning).toMatch(/zero data retention/);
    expect(written).toEqual([]);
    expect(blobs.size).toBe(0);
  });

  describe('with names for the changes', () => {
    const json = { prompt: 'the price', schema: null };
    const spec = { changeTracking: { tag: null, diff: false, diffShape: 'string' as const, json } };
    const document = { metadata: { statusCode: 200, creditsUsed: 1 } } as PageDocument;

    it('has a model compare the two texts of a changed page, for four credits', async () => {
      const previous = TEXT.replace('one', 'two');
      before = earlier(previous);
      const { document: page, result } = await track({ spec, document, page: { credits: 1 } });
      expect(asked).toMatchObject([{ question: { changes: json, formats: [] }, previous }]);
      expect(page.changeTracking).toEqual({
        previousScrapeAt: EARLIER.toISOString(),
        changeStatus: 'changed',
        visibility: 'visible',
        json: { price: { previous: 'two', current: 'one' } },
      });
      expect([result.credits, page.metadata.creditsUsed]).toEqual([5, 5]);
    });

    it('asks no model about a page that is new or the same', async () => {
      await track({ spec });
      before = earlier(TEXT);
      const { document: page } = await track({ spec });
      expect(page.changeTracking).toMatchObject({ changeStatus: 'same' });
      expect(asked).toEqual([]);
    });

    it('keeps what else is known of a change that a model could not name, and charges nothing for it', async () => {
      before = earlier(TEXT.replace('one', 'two'));
      const error = { code: 'SCRAPE_JSON_FAILED', message: 'no answer', retryable: true, httpStatus: 500 } as const;
      named = { failures: [{ what: 'changes', error }] };
      const { document: page, result } = await track({ spec, document, page: { credits: 1 } });
      expect(page.changeTracking).toMatchObject({ changeStatus: 'changed' });
      expect(page.changeTracking).not.toHaveProperty('json');
      expect(page.warning).toBe('The json of changeTracking could not be made: no answer.');
      expect(result.credits).toBe(1);
    });
  });
});
