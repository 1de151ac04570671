import { describe, expect, it } from '@jest/globals';
import { PLAIN_PAGE } from '@troupe/contracts';
import * as frontier from '@troupe/frontier';
import { pageFixture } from './page-fixture.js';

const { convert, documentOf, markdownOf } = pageFixture(frontier);
const main = (html: string): string => markdownOf(html, { onlyMainContent: true });
const sentence = (topic: string): string =>
  `The ${topic} was described at length by the people who had seen it, and nobody doubted what they said about it. `;
const story = (topic: string): string => `<p>${sentence(topic).repeat(3)}</p>`;

describe('main content', () => {
  const chrome = (content: string): string =>
    `<title>The river</title><header class="site-header"><nav><ul><li><a href=/a>Start</a><li><a href=/b>Shop</a></ul></nav></header>
    ${content}<footer class="site-footer"><p>© 2024 Someone. All rights reserved. <a href=/p>Privacy</a></p></footer>`;

  it('is the page in noscript when that holds nearly all text', () => {
    const html = `<div id=app></div><noscript><div>${story('river')}${story('lake')}</div></noscript><p>Loading</p>`;
    expect(markdownOf(html)).toContain('The river was described');
    expect(markdownOf(`<p>Hello</p><noscript><p>Please enable JavaScript</p></noscript>`)).toBe('Hello');
    expect(markdownOf(`${story('sea')}<noscript>${story('lake')}</noscript>`)).not.toContain('lake');
  });

  it('of an article leaves out teasers behind it', () => {
    const teaser = (topic: string): string =>
      `<div class="card"><h3><a href="/${topic}">About the ${topic}</a></h3><p><a href="/${topic}">Read the ${topic} story.</a></p></div>`;
    const text = main(
      chrome(
        `<main><article><h1>The river</h1>${story('river')}${story('bank')}${story('bridge')}</article>
        <aside class="related-posts"><h2>Related stories</h2>${['hill', 'wood', 'town', 'mill'].map(teaser).join('')}</aside></main>`,
      ),
    );
    expect(text).toContain('# The river');
    expect(text).toContain('The bridge was described');
    expect(text).not.toContain('hill');
    expect(text).not.toContain('All rights reserved');
    expect(text).not.toContain('Shop');
  });

  it('warns when the page is so unclear that nearly all of it was kept', () => {
    const { page } = convert(`<nav>${'<a href=/a>Only navigation</a> '.repeat(6)}</nav>`, {
      spec: {
        formats: [{ type: 'markdown' }],
        onlyMainContent: true,
        includeTags: [],
        excludeTags: [],
        removeBase64Images: true,
        parsers: PLAIN_PAGE.parsers,
      },
    });
    expect(page.markdown).toContain('Only navigation');
    expect(page.warning).toMatch(/unclear/);
    expect(convert(chrome(story('x'))).page).not.toHaveProperty('warning');
  });
});

describe('what may be missing', () => {
  const comments = (count: number): string =>
    `<div class="comments">${`<div class="comment"><p>${sentence('yard')}</p></div>`.repeat(count)}</div>`;
  const page = (after: string): string =>
    `<title>Yard</title><div class="content"><h1>Yard</h1>${story('yard').repeat(3)}</div>${after}`;
  const read = (html: string, onlyMainContent = true) => documentOf(html, ['markdown'], { onlyMainContent });

  it('is told as a share of the content', () => {
    expect(read(page('')).metadata.contentLoss).toBe(0);
    const { metadata, warning } = read(page(comments(6)));
    expect(metadata.contentLoss).toBeGreaterThan(0.05);
    expect(metadata.contentLoss).toBeLessThan(0.15);
    expect(warning).toBeUndefined();
  });

  it('is a warning when it is much', () => {
    const { metadata, warning } = read(page(comments(12)));
    expect(metadata.contentLoss).toBeGreaterThan(0.15);
    expect(warning).toMatch(/^Some \d\d % of the content may have been left out: "onlyMainContent": false /);
  });

  it('is nothing that a whole page has, or that a page can say of itself', () => {
    const html = `<meta name=contentLoss content=0.9>${page(comments(12))}`;
    expect(read(html, false).metadata).not.toHaveProperty('contentLoss');
    expect(read(html).metadata.contentLoss).not.toBe('0.9');
  });
});
