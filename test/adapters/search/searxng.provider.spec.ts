import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createSearchProvider, type OpenProvider, type ProviderQuery } from '@troupe/search';
import { startSearxng, type SearxngServer } from '../../support/searxng-server.js';

const QUERY: ProviderQuery = { text: 'nats', source: 'web', language: 'en-US', maxAge: null, safe: false, page: 1 };
const NEVER = new AbortController().signal;

let server: SearxngServer;
let provider: OpenProvider;

beforeAll(async () => {
  server = await startSearxng(() => [
    { url: 'https://nats.io/', title: 'NATS', content: ' Messaging ', category: 'general' },
    { url: 'ftp://nats.example/', title: 'nats files', content: '', category: 'general' },
    {
      url: 'https://news.example/nats',
      title: 'NATS 3',
      content: 'Out now',
      category: 'news',
      publishedDate: '2026-01-02T03:04:05',
      thumbnail: '//news.example/t.png',
    },
    {
      url: 'https://pics.example/nats',
      title: 'nats logo',
      content: '',
      category: 'images',
      img_src: 'https://pics.example/nats.png',
      resolution: '640 x 480',
    },
  ]);
  provider = (await createSearchProvider({ searxngUrl: server.url }))!;
});

afterEach(() => {
  server.mood = 'well';
});

afterAll(async () => {
  await provider.close();
  await server.close();
});

const codeOf = (mood: SearxngServer['mood']) => {
  server.mood = mood;
  return expect(provider.search(QUERY, NEVER)).rejects;
};

describe('SearXNG', () => {
  it('answers the web, news and images with what each has', async () => {
    const plain = { date: null, imageUrl: null, imageSize: null };
    expect(await provider.search(QUERY, NEVER)).toEqual({
      hits: [{ url: 'https://nats.io/', title: 'NATS', text: 'Messaging', ...plain }],
      warning: null,
    });
    expect((await provider.search({ ...QUERY, source: 'news' }, NEVER)).hits).toEqual([
      expect.objectContaining({ date: '2026-01-02T03:04:05', imageUrl: 'https://news.example/t.png', text: 'Out now' }),
    ]);
    expect((await provider.search({ ...QUERY, source: 'images' }, NEVER)).hits).toEqual([
      expect.objectContaining({ imageUrl: 'https://pics.example/nats.png', imageSize: { width: 640, height: 480 } }),
    ]);
  });

  it('is told the query, category, language, age and page', async () => {
    await provider.search({ text: 'a b', source: 'news', language: null, maxAge: 'week', safe: true, page: 3 }, NEVER);
    expect(Object.fromEntries(server.queries.at(-1)!)).toEqual({
      q: 'a b',
      format: 'json',
      categories: 'news',
      language: 'all',
      time_range: 'week',
      safesearch: '2',
      pageno: '3',
    });
  });

  it('is found under a path and takes the credentials of its address', async () => {
    const behind = (await createSearchProvider({ searxngUrl: server.url.replace('//', '//me:p%40ss@') + '/searx/' }))!;
    expect((await behind.search(QUERY, NEVER)).hits).toHaveLength(1);
    expect(server.headers.authorization).toBe(`Basic ${Buffer.from('me:p@ss').toString('base64')}`);
    await behind.close();
  });

  it('says what is wrong when it cannot answer, and never where it is', async () => {
    await codeOf('no-json').toMatchObject({
      code: 'SEARCH_FAILED',
      message: expect.stringContaining('search.formats'),
    });
    await codeOf('limited').toMatchObject({ code: 'SEARCH_FAILED', message: expect.stringContaining('pause') });
    await codeOf('broken').toMatchObject({ code: 'SEARCH_FAILED', httpStatus: 500 });
    await codeOf('garbage').toMatchObject({ message: expect.stringContaining('JSON') });
    await codeOf('huge').toMatchObject({ message: expect.stringContaining('bytes') });
    const gone = (await createSearchProvider({ searxngUrl: 'http://127.0.0.1:1' }))!;
    await expect(gone.search(QUERY, NEVER)).rejects.toMatchObject({ message: expect.not.stringContaining('127') });
    await gone.close();
  });

  it('names the engines that did not answer', async () => {
    server.mood = 'engines-down';
    expect((await provider.search(QUERY, NEVER)).warning).toContain('google');
  });

  it('stops when the caller has no more time', async () => {
    server.mood = 'silent';
    await expect(provider.search(QUERY, AbortSignal.timeout(50))).rejects.toMatchObject({ name: 'TimeoutError' });
  });
});
