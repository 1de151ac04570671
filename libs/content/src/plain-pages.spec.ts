import { describe, expect, it } from '@jest/globals';
import * as frontier from '@troupe/frontier';
import { pageFixture } from './page-fixture.js';
import { PLAIN_PAGES, type PlainPage } from './plain-pages.fixture.js';

const { markdownOf } = pageFixture(frontier);

const AROUND: Record<PlainPage['around'], (body: string) => string> = {
  main: (body) => `<main>${body}</main>`,
  article: (body) => `<article>${body}</article>`,
  'main article': (body) => `<main><article>${body}</article></main>`,
  role: (body) => `<div role="main">${body}</div>`,
  nothing: (body) => body,
};

function pageOf({ around, head = '', body }: PlainPage): string {
  const menu = ['Home', 'Boats', 'Prices', 'About us']
    .map((name) => `<li><a href="/${name}">${name}</a></li>`)
    .join('');
  return `<!doctype html><title>Page</title>${head}<header><a href="/">The Yard</a><nav><ul>${menu}</ul></nav></header>
    ${AROUND[around](body)}<footer><p>Copyright 2024 The Yard</p><a href="/imprint">Imprint</a></footer>`;
}

describe('a plain page', () => {
  it.each(PLAIN_PAGES)('$name is kept whole, without menu and footer', (page) => {
    const whole = markdownOf(`${page.head ?? ''}${page.body}`);
    const main = markdownOf(pageOf(page), { onlyMainContent: true });
    expect(main).toBe(whole);
  });
});
