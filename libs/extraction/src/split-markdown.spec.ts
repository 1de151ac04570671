import { describe, expect, it } from '@jest/globals';
import { estimateTokens } from './estimate-tokens.js';
import { splitMarkdown } from './split-markdown.js';

const split = (markdown: string, maxTokens: number): string[] =>
  [...splitMarkdown(markdown, maxTokens)].map(({ text }) => text);
const words = (n: number, name = 'word'): string => Array.from({ length: n }, (_, i) => `${name}${i}`).join(' ');
const sentences = (n: number): string => Array.from({ length: n }, (_, i) => `This is sentence ${i} of it.`).join(' ');

describe('splitMarkdown', () => {
  it('leaves a page whole that fits', () => {
    expect(split('\n# A\n\none\n\n\n\ntwo\n', 100)).toEqual(['# A\n\none\n\n\n\ntwo']);
    expect(split('  \n\n', 100)).toEqual([]);
  });

  it('never makes a part larger than asked, and leaves no word out', () => {
    const page = [
      '# Title',
      sentences(40),
      '## Second',
      words(300),
      '```js\n' + Array.from({ length: 80 }, (_, i) => `call(${i});`).join('\n') + '\n```',
      '| a | b |\n| --- | --- |\n' + Array.from({ length: 60 }, (_, i) => `| row${i} | ${i} |`).join('\n'),
      'x'.repeat(3000),
    ].join('\n\n');
    for (const max of [60, 150, 400]) {
      const parts = split(page, max);
      expect(parts.length).toBeGreaterThan(3);
      for (const part of parts) expect(estimateTokens(part)).toBeLessThanOrEqual(max);
      const all = parts.join('\n');
      for (const word of page.match(/[a-z]+\d+/g)!) expect(all).toContain(word);
      expect(all.match(/x/g)!.length).toBeGreaterThanOrEqual(3000);
    }
  });

  it('ends a part before a heading that comes late in it', () => {
    const page = `# Shop\n\n## Lamps\n\n${sentences(12)}\n\n## Chairs\n\n${sentences(3)}\n\n${sentences(4)}`;
    const parts = split(page, 130);
    expect(parts).toHaveLength(2);
    expect(parts[0]).not.toContain('Chairs');
    expect(parts[1]).toMatch(/^# Shop\n\n## Chairs\n\n/);
  });

  it('begins every part with the headings over it, not with those that have ended', () => {
    const page = `# Top\n\n## One\n\n${sentences(20)}\n\n## Two\n\n### Deep\n\n${sentences(20)}`;
    const parts = split(page, 90);
    expect(parts.length).toBeGreaterThan(3);
    expect(parts[1]).toMatch(/^# Top\n\n## One\n\nThis/);
    expect(parts.at(-1)).toMatch(/^# Top\n\n## Two\n\n### Deep\n\nThis/);
    expect(parts.at(-1)).not.toContain('One');
  });

  it('leaves no heading alone at the end of a part', () => {
    const text = Array(4).fill(sentences(2)).join('\n\n');
    const parts = split(`${text}\n\n# Next\n\n${text}`, estimateTokens(text) + 10);
    expect(parts).toEqual([text, `# Next\n\n${text}`]);
  });

  it('repeats the header of a table that is cut', () => {
    const rows = Array.from({ length: 50 }, (_, i) => `| name ${i} | ${i} |`);
    const parts = split(['| name | n |', '|---|---|', ...rows].join('\n'), 80);
    expect(parts.length).toBeGreaterThan(4);
    for (const part of parts) expect(part).toMatch(/^\| name \| n \|\n\|---\|---\|\n\| name \d/);
    expect(parts.flatMap((part) => part.split('\n').filter((line) => /\d/.test(line)))).toEqual(rows);
  });

  it('keeps the fences of code that is cut, and does not see headings in code', () => {
    const lines = Array.from({ length: 60 }, (_, i) => `# line ${i}`);
    const parts = split(['~~~sh', ...lines, '~~~'].join('\n'), 60);
    for (const part of parts) expect(part).toMatch(/^~~~sh\n(# line \d+\n)+~~~$/);
    expect(parts.flatMap((part) => part.split('\n').slice(1, -1))).toEqual(lines);
  });

  it('cuts long paragraphs at the ends of sentences', () => {
    for (const part of split(sentences(100), 100)) expect(part).toMatch(/^This is .* of it\.$/s);
  });

  it('does not cut a character in two', () => {
    const parts = split('😀'.repeat(500), 50);
    expect(parts.join('')).toBe('😀'.repeat(500));
    for (const part of parts) expect(part).toMatch(/^[^\ud800-\udfff]*$/u);
  });

  it('reads only as much of a page as is asked for, and says how much that was', () => {
    const page = `${sentences(20)}\n\n`.repeat(3000);
    const first = splitMarkdown(page, 1000).next().value!;
    expect(first.readChars / page.length).toBeCloseTo(first.tokens / estimateTokens(page), 3);
    const firstCpu = cpuOf(() => splitMarkdown(page, 1000).next());
    expect(firstCpu).toBeLessThan(cpuOf(() => [...splitMarkdown(page, 1000)]) / 5);
  });
});

function cpuOf(run: () => unknown): number {
  const before = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}
