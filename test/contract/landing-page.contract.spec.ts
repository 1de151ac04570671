/** What a browser is shown at the gateway's address. */
import { describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { api, useGateway } from './api.js';

useGateway();

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
const open = (accept: string): Promise<Response> => fetch(`${api().url}/`, { headers: { accept } });

describe('the page of the root', () => {
  it('is for browsers only, and needs no key', async () => {
    const page = await open(BROWSER);
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toContain('text/html');
    for (const accept of ['*/*', 'text/plain', 'application/json', '']) {
      const answer = await open(accept);
      expect([accept, answer.headers.get('content-type')]).toEqual([accept, 'text/plain; charset=utf-8']);
      expect(answer.headers.get('vary')).toMatch(/accept/i);
    }
  });

  it('says where the key is, gives a call to paste, and leads to a description that is there', async () => {
    const html = await (await open(BROWSER)).text();
    expect(html).toContain('.troupe/api-key');
    expect(html).toContain(`curl -s ${api().url}/v2/scrape`);
    const links = [...html.matchAll(/href="([^"]+)"/g)].map(([, link]) => link!);
    expect(links).toEqual(['/docs', '/openapi.json']);
    for (const link of links) expect((await fetch(new URL(link, api().url))).status).toBe(200);
  });

  it('loads nothing, runs nothing, and its policy knows its one style', async () => {
    const page = await open(BROWSER);
    const html = await page.text();
    const style = /<style>(.*?)<\/style>/s.exec(html)![1]!;
    const policy = page.headers.get('content-security-policy')!.split('; ');
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain(`style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`);
    expect(policy).toContain("frame-ancestors 'none'");
    expect(html).not.toMatch(/<script|<img|<link|\bsrc=|\bstyle=|url\(|@import/i);
  });
});
