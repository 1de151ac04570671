import { describe, expect, it } from '@jest/globals';
import { Blocks } from './blocks.js';
import { headingLevels } from './block-features.js';
import { measure, parseHtml } from '@troupe/html';
import { wholePage } from './selection.js';
import { keepContents, keepPartsWhole } from './whole-parts.js';

const LONG = 'a long line of text that goes on for quite a while here';

/** Kept after the rules, one letter per block: estimates as given, kept from 0.5 on. */
function settle(html: string, estimates: number[], isCollection = false, rule = keepPartsWhole): string {
  const tree = parseHtml(html);
  const mask = wholePage(tree);
  const blocks = new Blocks(tree, mask, measure(tree, mask));
  const headingLevel = headingLevels(tree, blocks);
  expect(blocks.count).toBe(estimates.length);
  const kept = Uint8Array.from(estimates, (value) => (value >= 0.5 ? 1 : 0));
  rule({ tree, blocks, headingLevel, estimates: Float32Array.from(estimates), isCollection, kept });
  return [...kept].map((value) => (value === 1 ? 'k' : '-')).join('');
}

describe('parts that belong together', () => {
  it('are completed when most of them was kept', () => {
    const table = `<table><tr><td>${LONG}<td>1<tr><td>${LONG}<td>2</table>`;
    expect(settle(table, [0.9, 0.3, 0.9, 0.3])).toBe('kkkk');
    expect(settle(`<ul><li>${LONG}<li>${LONG}<li>${LONG}<li>x</ul>`, [0.9, 0.9, 0.9, 0.01])).toBe('kkk-');
  });

  it('go when next to nothing of them was kept', () => {
    expect(settle(`<ul><li>${LONG}<li>${LONG}<li>abc</ul>`, [0.2, 0.2, 0.9])).toBe('---');
  });

  it('are left alone in between', () => {
    expect(settle(`<ul><li>${LONG}<li>${LONG}</ul>`, [0.9, 0.2])).toBe('k-');
  });
});

describe('a list among kept text', () => {
  const list = '<ul><li>one<li>two</ul>';

  it('stays unless it is most unlikely', () => {
    expect(settle(`<div><p>${LONG}</p>${list}<p>${LONG}</p></div>`, [0.9, 0.1, 0.01, 0.9])).toBe('kk-k');
    expect(settle(`<div><p>${LONG}</p>${list}${list}<p>${LONG}</p></div>`, [0.9, 0.1, 0.1, 0.1, 0.1, 0.9])).toBe(
      'kkkkkk',
    );
  });

  it('that ends the text stays when it is not too unlikely', () => {
    expect(settle(`<div><p>${LONG}</p>${list}</div>`, [0.9, 0.4, 0.2])).toBe('kk-');
  });

  it('goes before all text, beside the element, and where most of the element goes', () => {
    expect(settle(`<div>${list}<p>${LONG}</p></div>`, [0.4, 0.4, 0.9])).toBe('--k');
    expect(settle(`<div><p>${LONG}</p></div>${list}<p>${LONG}</p>`, [0.1, 0.1, 0.1, 0.9])).toBe('---k');
    expect(settle(`<div><p>${LONG}</p>${list}<p>${LONG}${LONG}${LONG}</p></div>`, [0.9, 0.4, 0.4, 0.1])).toBe('k---');
  });

  it('stays when a kept sentence right before announces it with a colon', () => {
    const page = (before: string): string => `<div>${before}${list}</div>`;
    expect(settle(page(`<p>${LONG}:</p>`), [0.9, 0.02, 0.01])).toBe('kkk');
    expect(settle(page(`${LONG}：<!-- -->`), [0.9, 0.02, 0.01])).toBe('kkk');
    expect(settle(page(`<p>${LONG}.</p>`), [0.9, 0.02, 0.01])).toBe('k--');
    expect(settle(page('<p>Related:</p>'), [0.9, 0.02, 0.01])).toBe('k--');
    expect(settle(page(`<p>${LONG}:</p>`), [0.2, 0.02, 0.01])).toBe('---');
    expect(settle(`<div><p>${LONG}:</p></div><div>${list}</div>`, [0.9, 0.02, 0.01])).toBe('k--');
    expect(settle(`<p>${LONG}:</p><nav>${list}</nav>`, [0.9, 0.02, 0.01])).toBe('k--');
  });
});

describe('a table of contents', () => {
  const linksTo = (...names: string[]): string =>
    `<ul>${names.map((name) => `<li><a href="#x">${name}</a>`).join('')}</ul>`;
  const sections = `<h2>Keel</h2><h2>Stem</h2><h2>Thwart</h2>`;
  const keep = (html: string, estimates: number[]): string => settle(html, estimates, false, keepContents);

  it('stays when half of it or more names headings that stay', () => {
    expect(keep(linksTo('Keel', 'Stem', 'Thwart', 'Oar') + sections, [0, 0, 0, 0, 1, 1, 1])).toBe('kkkkkkk');
    expect(keep(linksTo('Keel', 'Stem', 'Thwart') + sections, [0, 0, 0, 1, 1, 0])).toBe('---kk-');
    expect(keep(linksTo('Keel', 'Stem', 'Thwart', 'a', 'b', 'c', 'd') + sections, [0, 0, 0, 0, 0, 0, 0, 1, 1, 1])).toBe(
      '-------kkk',
    );
  });

  it('stays once, where it comes before the end of the text', () => {
    const contents = linksTo('Keel', 'Stem', 'Thwart');
    expect(keep(contents + contents + sections, [0, 0, 0, 0, 0, 0, 1, 1, 1])).toBe('kkk---kkk');
    expect(keep(sections + contents, [1, 1, 1, 0, 0, 0])).toBe('kkk---');
  });

  it('does not come back hidden', () => {
    expect(keep(`<div hidden>${linksTo('Keel', 'Stem', 'Thwart')}</div>${sections}`, [0, 0, 0, 1, 1, 1])).toBe(
      '---kkk',
    );
  });
});

describe('a heading', () => {
  it('stays over a section that is mostly kept', () => {
    expect(settle(`<h2>t</h2><p>${LONG}</p><h2>u</h2><p>${LONG}</p>`, [0.2, 0.9, 0.2, 0.1])).toBe('kk--');
  });

  it('of a higher level counts what is below lower ones', () => {
    expect(settle(`<h1>s</h1><h2>t</h2><p>${LONG}</p>`, [0.2, 0.9, 0.9])).toBe('kkk');
  });

  it('that is hidden or most unlikely does not come back', () => {
    expect(settle(`<h2 hidden>t</h2><p>${LONG}</p>`, [0.2, 0.9])).toBe('-k');
    expect(settle(`<h2>t</h2><p>${LONG}</p>`, [0.05, 0.9])).toBe('-k');
  });
});

describe("the page's title", () => {
  it('is the last h1 before the kept text', () => {
    const html = `<h1>site</h1><h1>t</h1><div>by me</div><p>${LONG}</p><h1>end</h1>`;
    expect(settle(html, [0.2, 0.2, 0.1, 0.9, 0.2])).toBe('-k-k-');
    expect(settle(html, [0.2, 0.9, 0.1, 0.9, 0.2])).toBe('-k-k-');
    expect(settle(html, [0.05, 0.05, 0.1, 0.9, 0.2])).toBe('---k-');
  });

  it('stays although unlikely when the page is named like it', () => {
    const html = `<title>The old mill | News</title><h1>The old mill</h1><p>${LONG}</p>`;
    expect(settle(html, [0.05, 0.9])).toBe('kk');
    expect(settle(html.replace('<h1>The old mill', '<h1>Our daily paper'), [0.05, 0.9])).toBe('-k');
  });
});

describe('a short block among kept text', () => {
  const section = `<section><p>${LONG}</p><p>${LONG}</p><a href=/m><p>More</p></a></section><p>other</p>`;

  it('stays on pages that are no articles', () => {
    expect(settle(section, [0.9, 0.9, 0.2, 0.2], true)).toBe('kkk-');
    expect(settle(section, [0.9, 0.9, 0.2, 0.2], false)).toBe('kk--');
  });

  it('goes when it is unlikely or little around it was kept', () => {
    expect(settle(section, [0.9, 0.9, 0.05, 0.2], true)).toBe('kk--');
    expect(settle(section, [0.9, 0.1, 0.2, 0.2], true)).toBe('k---');
  });
});
