import { describe, expect, it } from '@jest/globals';
import type { InvalidBodyError } from '../validation/issue.js';
import { refuseModelFormats, refusePrompt } from './refusals.js';

const FORMATS = [
  'markdown',
  { type: 'json', prompt: 'x' },
  { type: 'changeTracking', modes: ['git-diff', 'json'] },
  { type: 'json', prompt: 'x', key: 'extract' },
];
const WITHOUT = { caller: { hasModel: false }, config: {} };

function refusal(caller: Parameters<typeof refuseModelFormats>[2]): InvalidBodyError | null {
  try {
    refuseModelFormats(FORMATS, ['scrapeOptions'], caller);
    return null;
  } catch (error) {
    return error as InvalidBodyError;
  }
}

describe('formats that a language model writes', () => {
  it('are refused where there is none, each at its place', () => {
    expect(refusal(WITHOUT)?.issues.map(({ path, message }) => [path.join('.'), message.split(' needs')[0]])).toEqual([
      ['scrapeOptions.formats.1', 'Format json'],
      ['scrapeOptions.formats.2.modes.1', 'The json mode of changeTracking'],
      ['scrapeOptions.formats.3', 'Format extract'],
    ]);
    expect(refusal({ ...WITHOUT, config: { llmProvider: 'none' } })).not.toBeNull();
    expect(() => refusePrompt(WITHOUT.caller, {})).toThrow('A prompt needs a language model');
  });

  it('are offered by a model of the installation, or of the team', () => {
    expect(refusal({ ...WITHOUT, config: { llmProvider: 'ollama' } })).toBeNull();
    expect(refusal({ ...WITHOUT, caller: { hasModel: true } })).toBeNull();
    expect(() => refusePrompt({ hasModel: true }, {})).not.toThrow();
  });
});
