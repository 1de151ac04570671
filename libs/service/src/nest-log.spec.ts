import { describe, expect, it } from '@jest/globals';
import { nestLog } from './nest-log.js';

function said() {
  const lines: unknown[][] = [];
  const log = {
    error: (...line: unknown[]) => lines.push(['error', ...line]),
    warn: (...line: unknown[]) => lines.push(['warn', ...line]),
  };
  return { lines, nest: nestLog(log as never) };
}

describe('what Nest says', () => {
  it('is logged with its level, its cause and the part that says it', () => {
    const { lines, nest } = said();
    const error = new Error('no answer');
    nest.error(error, 'stack', 'Hooks');
    nest.warn('odd', 'Router');
    nest.log('mapped', 'Router');
    expect(lines).toEqual([
      ['error', { err: error, part: 'Hooks' }, 'Error: no answer'],
      ['warn', { part: 'Router', more: ['Router'] }, 'odd'],
    ]);
  });

  it('is not logged twice when it is thrown as well', () => {
    const { lines, nest } = said();
    nest.error(new Error('connect ECONNREFUSED'), 'ExceptionHandler');
    expect(lines).toEqual([]);
  });
});
