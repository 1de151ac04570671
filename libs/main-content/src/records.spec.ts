import { describe, expect, it } from '@jest/globals';
import { Blocks } from './blocks.js';
import { FeatureReader, TYPES, headingLevels } from './block-features.js';
import { measure, parseHtml } from '@troupe/html';
import { isOfDocumentation } from './page-body.js';
import { keepRecords } from './records.js';
import { wholePage } from './selection.js';

type PageType = (typeof TYPES)[number];

/** Texts of the blocks that are kept after the rules; before them all but those in `dropped` were. @param others how much the page is of each other type */
function shown(html: string, type: PageType, dropped: readonly string[] = [], others = 0.15): string[] {
  const tree = parseHtml(html);
  const mask = wholePage(tree);
  const blocks = new Blocks(tree, mask, measure(tree, mask));
  const headingLevel = headingLevels(tree, blocks);
  const { elements, repeats } = new FeatureReader(tree, blocks, headingLevel);
  const texts = Array.from({ length: blocks.count }, (_, block) => {
    const first = blocks.first[block]!;
    return tree.source.slice(tree.from[first], tree.to[first]).trim();
  });
  const kept = Uint8Array.from(texts, (text) => (dropped.includes(text) ? 0 : 1));
  const types = TYPES.map((name) => (name === type ? 0.9 : others));
  keepRecords({
    tree,
    blocks,
    headingLevel,
    isDocumentation: isOfDocumentation({ tree, blocks, elements: elements.list }),
    types,
    elements,
    repeats,
    estimates: new Float32Array(blocks.count).fill(0.5),
    kept,
  });
  return texts.filter((_, block) => kept[block] === 1);
}

const SOCKS = ['Red sock', 'Blue sock', 'Green sock', 'Black sock', 'White sock', 'Brown sock'];
const sock = (name: string, i: number): string =>
  `<li class=item><img src=/${i}.png><h3><a href=/${i}>${name} of wool</a></h3><div class=cost>€ ${i + 10}</div>` +
  `<p>Keeps feet number ${i} warm</p><div><button>Add to cart</button></div></li>`;
const LISTING = `<h1>Socks of wool</h1><ul>${SOCKS.map(sock).join('')}</ul>`;

describe('a listing', () => {
  it('has whole records: title, price and text of each, as most have them', () => {
    const texts = shown(LISTING, 'list', ['Black sock of wool', '€ 10', '€ 11', '€ 12', '€ 13', '€ 14', '€ 15']);
    SOCKS.forEach((name, i) => {
      const at = texts.indexOf(`${name} of wool`);
      expect(texts.slice(at, at + 3)).toEqual([`${name} of wool`, `€ ${i + 10}`, `Keeps feet number ${i} warm`]);
    });
  });

  it('is left alone when most of it was dropped', () => {
    const most = SOCKS.flatMap((name, i) => [`${name} of wool`, `Keeps feet number ${i} warm`]).slice(2);
    expect(shown(LISTING, 'list', most)).not.toContain('Brown sock of wool');
  });

  it('loses the buttons of its records', () => {
    expect(shown(LISTING, 'list')).not.toContain('Add to cart');
  });

  it('loses links that say the same in all records, unless they are the only ones', () => {
    const more = (title: string): string =>
      SOCKS.map(
        (name, i) =>
          `<div class=item><h3>${title.replace('T', name)}</h3><div><a href=/${i}>More of it</a></div></div>`,
      ).join('');
    expect(shown(more('<a href=/t>T</a>'), 'list')).not.toContain('More of it');
    expect(shown(more('T'), 'list').filter((text) => text === 'More of it')).toHaveLength(SOCKS.length);
  });

  it('loses its filters, but not when they are the page', () => {
    const filters = '<div class=facets><div>Under 20 euros</div><div>Under 30 euros</div></div>';
    expect(shown(filters + LISTING, 'list')).not.toContain('Under 20 euros');
    expect(shown(`<p>All</p>${filters}`, 'list')).toContain('Under 20 euros');
  });

  it('keeps what is named like furniture and has a heading', () => {
    const section = '<div class=related><h2>Latest socks</h2><p>The newest of all</p></div>';
    expect(shown(LISTING + section, 'list')).toContain('The newest of all');
  });

  it('is left alone on a page that is an article', () => {
    expect(shown(LISTING, 'article')).toContain('Add to cart');
  });

  it('is left alone in documentation', () => {
    expect(shown(`<meta name=generator content=mkdocs>${LISTING}`, 'list')).toContain('Add to cart');
  });

  it('may be as large as a page is', () => {
    const many = Array.from({ length: 1500 }, (_, i) => sock(`Sock ${i}`, i)).join('');
    const start = performance.now();
    expect(shown(`<ul>${many}</ul>`, 'list')).toContain('Sock 1499 of wool');
    expect(performance.now() - start).toBeLessThan(5000);
  });
});

describe('what was said before', () => {
  const twice = (part: string): string[] => shown(`<p>Soft and warm</p><p>Another text</p>${part}`, 'product');
  const count = (texts: string[]): number => texts.filter((text) => text === 'Soft and warm').length;

  it('is not said again', () => {
    expect(count(twice('<div>Soft and warm</div>'))).toBe(1);
  });

  it('stays in quotes, code and tables, and when it brings the first link', () => {
    expect(count(twice('<blockquote>Soft and warm</blockquote>'))).toBe(2);
    expect(count(twice('<pre>Soft and warm</pre>'))).toBe(2);
    expect(count(twice('<table><tr><td>Soft and warm</table>'))).toBe(2);
    expect(count(twice('<p><a href=/a>Soft and warm</a></p>'))).toBe(2);
  });

  it('stays when it links to another page', () => {
    const link = (to: string): string => `<p><a href=${to}>Soft and warm</a></p>`;
    expect(count(shown(`${link('/a')}${link('/b')}${link('/a')}`, 'product'))).toBe(2);
  });

  it('stays in records that say the same, which are whole', () => {
    const items = SOCKS.map((name) => `<li><h3>${name}</h3><p>Made of merino wool</p></li>`).join('');
    expect(shown(`<ul>${items}</ul>`, 'list').filter((text) => text === 'Made of merino wool')).toHaveLength(6);
  });

  it('takes a heading with it, which stays over other text', () => {
    const section = '<h2>Features of it</h2><p>Soft and warm</p>';
    expect(shown(`${section}<p>x</p>${section}`, 'product').filter((text) => text === 'Features of it')).toHaveLength(
      1,
    );
    const other = section.replace('Soft', 'Hard');
    expect(shown(section + other, 'product').filter((text) => text === 'Features of it')).toHaveLength(2);
  });
});

describe("a product's page", () => {
  const facts =
    '<h1>Wool hat</h1><p>A hat for cold ears, knitted by hand in the far north.</p><div class=price>€ 30</div>';

  it('loses other products and controls', () => {
    const texts = shown(`${facts}<div class=actions><div>Choose a size</div></div><div>${LISTING}</div>`, 'product');
    expect(texts).toEqual(expect.arrayContaining(['Wool hat', '€ 30']));
    expect(texts).not.toContain('Red sock of wool');
    expect(texts).not.toContain('Choose a size');
  });

  it('keeps records without prices', () => {
    const parts = ['Brim', 'Lining', 'Tassel'].map(
      (name) => `<li><h3>${name} of it</h3><p>${name} is made of wool</p></li>`,
    );
    expect(shown(`${facts}<ul>${parts.join('')}</ul>`, 'product')).toContain('Tassel of it');
  });
});

describe('a thread', () => {
  const post = (author: string, i: number): string =>
    `<div class=post><div class=userinfo><h4>${author}</h4><div>Senior member</div><div>1,23${i} posts</div>` +
    `<div><time>May ${i + 1}</time></div></div><div class=text>Answer number ${i} to the question about old mills.</div>` +
    '<blockquote>Who knows about old mills?</blockquote><div class=signature>Sent from a mill</div></div>';
  const posts = ['Ann', 'Bob', 'Cid', 'Dee'].map(post).join('');
  const question =
    'Who knows about old mills? There is one in our village and nobody can say when it was built, or by whom.';
  const html =
    `<div><div>Not open for replies</div></div><h1>Old mills</h1><p>${question}</p><div class=thread>${posts}</div>` +
    '<ul><li><a href=/1>New mills of the north</a></li></ul>';
  const texts = shown(html, 'forum');

  it('has posts with author, date and quotes', () => {
    for (const text of ['Ann', 'May 1', 'Answer number 0 to the question about old mills.'])
      expect(texts).toContain(text);
    expect(texts.filter((text) => text === 'Who knows about old mills?')).toHaveLength(4);
  });

  it('loses signatures and what panels tell about users', () => {
    for (const text of ['Sent from a mill', 'Senior member', '1,230 posts']) expect(texts).not.toContain(text);
  });

  it('loses what stands around it but its title and running text', () => {
    expect(texts).toContain('Old mills');
    expect(texts).toContain(question);
    expect(texts).not.toContain('Not open for replies');
    expect(texts).not.toContain('New mills of the north');
  });
});

describe('landmarks of the page', () => {
  const MENU = '<nav><a href=/a>Socks and more</a></nav>';
  const END = '<footer><h2>Our promise</h2><p>Prices are those of the manufacturer and may change.</p></footer>';

  it('go from lists, products and threads, headings and all', () => {
    for (const type of ['list', 'product', 'forum'] as const) {
      const texts = shown(MENU + LISTING + END, type);
      expect(texts).toContain('Socks of wool');
      for (const text of ['Socks and more', 'Our promise']) expect(texts).not.toContain(text);
    }
  });

  it('stay inside of an article, of a record, and on articles', () => {
    const signed = `<article><h1>Socks of wool</h1><p>Keeps feet warm</p>${END}</article>`;
    expect(shown(signed, 'product')).toContain('Our promise');
    const record = (name: string): string => `<div class=item><h3>${name}</h3><footer>By ${name} itself</footer></div>`;
    expect(shown(SOCKS.map(record).join(''), 'list')).toContain('By Red sock itself');
    expect(shown(LISTING + END, 'article')).toContain('Our promise');
  });

  it('stay where nothing else would', () => {
    expect(shown(END, 'product')).toEqual(['Our promise', 'Prices are those of the manufacturer and may change.']);
  });
});

describe('long text said twice', () => {
  const LONG =
    'Every sock is knitted by hand from the wool of sheep that live on the hills behind the house we work in.';
  const TWICE = `<h1>Wool</h1><p>${LONG}</p><div class=mobile><p>${LONG}</p><p>Sold out</p></div><p>Sold out</p>`;

  it('goes from an article that may be something else, short text does not', () => {
    expect(shown(TWICE, 'article')).toEqual(['Wool', LONG, 'Sold out', 'Sold out']);
    expect(shown(TWICE, 'article', [], 0)).toEqual(['Wool', LONG, LONG, 'Sold out', 'Sold out']);
  });
});

describe('consent dialogs', () => {
  const ASKED = '<h2>Privacy Preference Center</h2><p>These cookies are necessary for the website to function.</p>';
  const PAGE = '<h1>Wool</h1><p>What wool is made of, and how it is washed.</p>';

  it('go from pages of any kind', () => {
    for (const type of TYPES) {
      for (const names of ['id=consent-sdk', 'class="cookie-banner"', 'class=CookieNotice', 'class="gdpr popup"'])
        expect(shown(`${PAGE}<div ${names}>${ASKED}</div>`, type)).not.toContain('Privacy Preference Center');
    }
  });

  it('are not what is about cookies, nor what stands in the article', () => {
    for (const kept of [
      `<div class="recipe cookies">${ASKED}</div>`,
      `<main><div class=cookie-notice>${ASKED}</div></main>`,
      `<div class=cookie-policy><h1>Cookies</h1>${ASKED}</div>`,
    ])
      expect(shown(PAGE + kept, 'article')).toContain('Privacy Preference Center');
  });
});
