import { describe, expect, it } from '@jest/globals';
import { Blocks } from './blocks.js';
import { bestCut, byEstimate } from './best-cut.js';
import { FEATURES, FeatureReader, headingLevels } from './block-features.js';
import { Forest } from './block-model.js';
import { selectMainContent, type BlockModel } from './main-content.js';
import { measure, parseHtml, type Tree } from '@troupe/html';
import { wholePage } from './selection.js';

const sentence = (topic: string): string =>
  `The ${topic} was described at length by the people who had seen it, and nobody doubted what they said about it. `;
const story = (topic: string): string => `<p>${sentence(topic).repeat(3)}</p>`;

function blocksOf(html: string): { tree: Tree; blocks: Blocks; texts: string[] } {
  const tree = parseHtml(html);
  const mask = wholePage(tree);
  const blocks = new Blocks(tree, mask, measure(tree, mask));
  const texts = Array.from({ length: blocks.count }, () => '');
  for (let node = 0; node < tree.count; node++) {
    const block = blocks.ofNode[node]!;
    if (block >= 0) texts[block] += tree.text(node);
  }
  return { tree, blocks, texts };
}

function rowsOf(html: string): Record<string, number>[] {
  const { tree, blocks } = blocksOf(html);
  const columns = new FeatureReader(tree, blocks, headingLevels(tree, blocks)).read();
  return Array.from({ length: blocks.count }, (_, block) =>
    Object.fromEntries(FEATURES.map((name, x) => [name, columns[x * blocks.count + block]!])),
  );
}

interface SymmetricTree {
  questions: [feature: number, threshold: number][];
  leaves: number[];
}

/** Leaves are multiples of 1/8. */
function packForest(depth: number, bias: number, trees: SymmetricTree[]): Forest {
  const questions = trees.flatMap((tree) => tree.questions);
  const arrays = [
    Int32Array.of(trees.length, depth),
    Float32Array.of(bias, 1 / 8, ...questions.map(([, threshold]) => threshold)),
    Int16Array.from(
      trees.flatMap((tree) => tree.leaves),
      (leaf) => leaf * 8,
    ),
    Uint16Array.from(questions, ([feature]) => feature),
  ];
  return new Forest(Buffer.concat(arrays.map((array) => new Uint8Array(array.buffer))).toString('base64'));
}

const modelOf = (name: string, threshold: number, low = -5, high = 5): BlockModel => ({
  types: [],
  blocks: packForest(1, 0, [{ questions: [[FEATURES.indexOf(name), threshold]], leaves: [low, high] }]),
});

describe('blocks', () => {
  it.each([
    ['<p>a <b>b</b> c</p><p>d</p>', ['a b c', 'd']],
    ['<div>a<p>b</p>c</div>', ['a', 'b', 'c']],
    ['<div>a<br>b<br><br>c</div>', ['ab', 'c']],
    ['<p>a</p><select><option>x</select><textarea>y</textarea><svg><text>z</text></svg>', ['a']],
    ['<div>a <button>b</button></div>', ['a ', 'b']],
    ['<p> </p><script>x</script>', []],
  ])('of %s', (html, texts) => {
    expect(blocksOf(html).texts).toEqual(texts);
  });

  it('know their links, words and what stands around them', () => {
    const [row] = rowsOf('<title>Old town</title><nav hidden><ul><li><a href=/x>The old town, today.</a></ul></nav>');
    expect(row).toMatchObject({ words: 4, linkShare: 1, links: 1, endsSentence: 1, titleShare: 0.5 });
    expect(row).toMatchObject({ 'in.nav': 1, 'in.hidden': 1, 'in.li': 1, 'in.article': 0 });
  });

  it('know how many steps up an element of some kind is', () => {
    const [row] = rowsOf('<div class="site-footer"><div><p class=postMeta>a</p></div></div>');
    expect(row).toMatchObject({ 'kind.post': 0, 'kind.meta': 0, 'kind.footer': 2, 'kind.nav': 40 });
  });

  it('know the group they repeat in', () => {
    const card = '<div class="card c7"><h3><a href=/x>Name</a></h3><p>Some words</p></div>';
    const row = rowsOf(`<section>${card.repeat(5)}</section>`)[3];
    expect(row).toMatchObject({
      repeatCount: 5,
      repeatUp: 1,
      repeatBlocks: 2,
      itemLinks: 1,
      itemChars: 13,
      pathCount: 5,
    });
  });

  it('know the last heading', () => {
    const rows = rowsOf('<h1>Rivers</h1><p>a</p><h3><a href=/>Related stories</a></h3><p>b</p>');
    expect(rows[1]).toMatchObject({ lastHeading: 1, sinceHeading: 1, lastHeadingLinks: 0 });
    expect(rows[3]).toMatchObject({ lastHeading: 3, lastHeadingLinks: 1 });
  });

  it('know nothing that is negative', () => {
    const rows = rowsOf(
      `<h4>x</h4><p>a</p><h1>Rivers</h1><ul>${'<li>b'.repeat(4)}</ul><div>${story('lake')}${story('sea')}</div><div><p>c</div>`,
    );
    expect(rows.flatMap((row) => Object.entries(row)).filter(([, value]) => !(value >= 0))).toEqual([]);
    expect(rows.at(0)!.bestAfter).toBeLessThan(rows.at(-1)!.bestAfter!);
  });

  it('know whether they stand in the element with most running text', () => {
    const rows = rowsOf(`<div><p>menu</p></div><div>${story('river')}${story('lake')}<p>short</p></div>`);
    expect(rows.map((row) => row.bestIn)).toEqual([0, 1, 1, 1]);
  });
});

describe('a forest', () => {
  it('adds up the leaves that the answers of each tree name', () => {
    const forest = packForest(2, 0.5, [
      {
        questions: [
          [0, 1.5],
          [1, 0.5],
        ],
        leaves: [1, 2, 3, 4],
      },
      {
        questions: [
          [1, 0],
          [1, 0.6],
        ],
        leaves: [-1, 0, 9, 0.25],
      },
    ]);
    const columns = Float32Array.of(1, 1, 1.5, 1.75, 0.5, 0.75, 0, 0);
    expect([...forest.logOdds(columns, 4)]).toEqual([1.5, 3.75, 0.5, 1.5]);
  });
});

describe('the cut', () => {
  it('looks at equal estimates in the order of the page', () => {
    expect([...byEstimate(new Float32Array([0.25, 1, 0.5, 0, 0.5, 1]))]).toEqual([1, 5, 2, 4, 0, 3]);
  });

  it('is the one that promises the best F1', () => {
    expect(bestCut(new Float32Array([0.9, 0.1, 0.8]), new Int32Array([50, 50, 50])).cut).toBeCloseTo(0.8);
    expect(bestCut(new Float32Array([0.3, 0.05, 0.28]), new Int32Array([50, 50, 50])).cut).toBeCloseTo(0.28);
  });
});

describe('a selection by estimates', () => {
  const select = (html: string, model: BlockModel): string => {
    const tree = parseHtml(html);
    const whole = wholePage(tree);
    const content = selectMainContent(tree, whole, measure(tree, whole), model);
    let text = '';
    if (content === null) return text;
    for (let node = 0; node < tree.count; node++) {
      if (content.mask[node] === 0) node = tree.end[node]! - 1;
      else text += tree.isText(node) ? tree.text(node).trim() : tree.tag[node]! > 1 ? `<${tree.name(node)}>` : '';
    }
    return text.replaceAll(/<(?:html|head|body)>/g, '');
  };

  it('keeps what it believes in, and no element that has nothing left', () => {
    expect(select('<ul><li>in</li><li><a href=/>out out</a></li></ul>', modelOf('words', 1, 5, -5))).toBe('<ul><li>in');
  });

  it('keeps images with the text around them', () => {
    const html = '<div><img src=a><p>in</p></div><div><img src=b><p>out out</p></div>';
    expect(select(html, modelOf('words', 1, 5, -5))).toBe('<div><img><p>in');
  });

  it('of a page with very many blocks drops only what stands in the chrome', () => {
    const html = `<nav><p>menu</p></nav>${'<p>a</p>'.repeat(8001)}`;
    expect(select(html, modelOf('words', 5))).toBe('<p>a'.repeat(8001));
    const deep = `<nav><p>menu</p></nav>${'<div>'.repeat(400)}${'<p>a</p>'.repeat(1000)}`;
    expect(select(deep, modelOf('words', 5))).not.toContain('menu');
  });

  it('is null for a page without text', () => {
    expect(select('<p> </p>', modelOf('words', 1))).toBe('');
  });
});

describe('what may be missing', () => {
  it('is weighed by how likely it is content', () => {
    const tree = parseHtml('<p>in</p><div><a href=/>out out</a></div>');
    const whole = wholePage(tree);
    const likely = 1 / (1 + Math.exp(3));
    const content = selectMainContent(tree, whole, measure(tree, whole), modelOf('words', 1, 5, -3));
    expect(content!.loss).toBeCloseTo((6 * likely) / (2 + 6 * likely), 5);
  });
});
