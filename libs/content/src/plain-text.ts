/** A simple writer, for pages on which the full one fails. */
import { TroupeError } from '@troupe/contracts';
import { DROP, F, flagsOf, KEEP, type Mask, T, TEXT, type Tree } from '@troupe/html';

const MARKS = /[\\`*_[\]<&]/g;
const BLOCK_MARK = /^(\d{0,9})([#>+=|~.)-])/;
const WHITE_SPACE = /[ \t\n\r\f]+/g;

/** `clever()`, or, when it fails, `plain()` after `tell()`. An error of the caller's request is not a failure. */
export function orElse<R>(clever: () => R, plain: () => R, tell: () => void): R {
  try {
    return clever();
  } catch (error) {
    if (error instanceof TroupeError) throw error;
    tell();
    return plain();
  }
}

/** Text of what the mask shows as markdown paragraphs, one per block. */
export function writePlainText(tree: Tree, mask: Mask): string {
  const blocks: string[] = [''];
  const ends: number[] = [];
  const breakBlock = (): void => void (blocks.at(-1) !== '' && blocks.push(''));
  for (let node = 1; node < tree.count;) {
    while (ends.length > 0 && ends.at(-1)! <= node) {
      ends.pop();
      breakBlock();
    }
    if (mask[node] === DROP) {
      node = tree.end[node]!;
      continue;
    }
    const tag = tree.tag[node]!;
    if (tag === TEXT && mask[node] === KEEP) blocks[blocks.length - 1] += tree.text(node);
    else if (tag === T.br || flagsOf(tag) & F.block) {
      breakBlock();
      ends.push(tree.end[node]!);
    }
    node++;
  }
  const texts = blocks.map((text) => text.replace(WHITE_SPACE, ' ').trim()).filter((text) => text !== '');
  return texts.map((text) => text.replace(MARKS, '\\$&').replace(BLOCK_MARK, '$1\\$2')).join('\n\n');
}
