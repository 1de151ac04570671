import type { Format } from '@troupe/contracts';
import { FORMATS } from './formats.js';
import type { PageToWrite } from './page-to-write.js';

/** Formats of the whole page come first: a later format puts its warnings before theirs. */
const IN_ORDER = [...FORMATS.filter((kind) => kind.ofWholePage), ...FORMATS.filter((kind) => !kind.ofWholePage)];

/**
 * The parts of a document that a converter makes, by key. A format that the page does not have has no key.
 *
 * @throws TroupeError BAD_REQUEST for a bad selector
 */
export function writeFormats(asked: readonly Format[], page: PageToWrite): Record<string, unknown> {
  const content: Record<string, unknown> = {};
  for (const kind of IN_ORDER) {
    const formats = kind.write === undefined ? [] : asked.filter(({ type }) => type === kind.name);
    for (const format of formats) {
      if (content[kind.name] === undefined) content[kind.name] = kind.write!(page, format);
    }
    if (content[kind.name] === undefined) delete content[kind.name];
  }
  return content;
}
