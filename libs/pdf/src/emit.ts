/** Blocks of all pages as HTML. Only the whole document tells the levels of headings. */
import { escapeHtml } from '@troupe/html';
import type { Block, HeadingBlock, ItemBlock } from './blocks.js';

const MAX_LEVEL = 6;
/** Sizes closer than this are one, in points. */
const SAME_SIZE = 0.6;

/** Largest size first: h1 and on. */
export function headingScale(pages: readonly (readonly Block[])[]): number[] {
  const weights = new Map<number, number>();
  for (const block of pages.flat()) {
    if (block.type !== 'heading' || block.level !== null) continue;
    const size = Math.round(block.size * 2) / 2;
    weights.set(size, (weights.get(size) ?? 0) + 1);
  }
  const scale: number[] = [];
  for (const size of [...weights.keys()].sort((a, b) => b - a)) {
    if (scale.length === 0 || scale.at(-1)! - size > SAME_SIZE) scale.push(size);
  }
  return scale;
}

function levelOf(heading: HeadingBlock, scale: readonly number[]): number {
  if (heading.level !== null) return Math.min(MAX_LEVEL, heading.level);
  const place = scale.findIndex((size) => heading.size >= size - SAME_SIZE);
  return Math.min(MAX_LEVEL, (place === -1 ? scale.length : place) + 1);
}

export function pageHtml(blocks: readonly Block[], scale: readonly number[]): string {
  const parts: string[] = [];
  for (let i = 0; i < blocks.length; i++) {
    const block = blocks[i]!;
    if (block.type === 'item') {
      const items = [block];
      for (let next = blocks[i + 1]; next?.type === 'item'; next = blocks[++i + 1]) items.push(next);
      parts.push(listHtml(items));
    } else if (block.type === 'heading') {
      const level = levelOf(block, scale);
      parts.push(`<h${level}>${block.html}</h${level}>`);
    } else if (block.type === 'code') parts.push(`<pre><code>${escapeHtml(block.text)}</code></pre>`);
    else parts.push(block.html);
  }
  return parts.join('\n');
}

interface OpenList {
  tag: 'ol' | 'ul';
  indent: number;
}

/** Items nest by where their marks stand. */
export function listHtml(items: readonly ItemBlock[]): string {
  let html = '';
  const open: OpenList[] = [];
  for (const item of items) {
    const tag = item.number === null ? 'ul' : 'ol';
    while (open.length > 1 && item.indent < open.at(-1)!.indent - 4) html += closeList(open);
    const current = open.at(-1);
    if (current === undefined || (item.indent > current.indent + 6 && open.length < 10))
      html += openList(open, item, tag);
    else if (current.tag !== tag) html += closeList(open) + openList(open, item, tag);
    else html += '</li>';
    html += `<li>${item.html}`;
  }
  while (open.length > 0) html += closeList(open);
  return html;
}

function openList(open: OpenList[], { indent, number }: ItemBlock, tag: OpenList['tag']): string {
  open.push({ tag, indent });
  return number !== null && number !== 1 ? `<ol start="${number}">` : `<${tag}>`;
}

function closeList(open: OpenList[]): string {
  return `</li></${open.pop()!.tag}>`;
}
