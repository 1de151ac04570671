/** The agent's observations as blocks of data: the newest whole, and older ones cut when there is not room for all. */
import type { DataBlock, LanguageModel } from '../models/model.js';
import type { AgentStep } from './agent-step.js';

/** A shorter beginning of a text is of no use. */
const MIN_CUT_TOKENS = 50;
const CUT = '\n[… cut]';
const MAX_SHOWN_INPUT = 500;

/** @param maxTokens of all blocks together */
export function transcriptOf(
  steps: readonly AgentStep[],
  model: Pick<LanguageModel, 'countTokens'>,
  maxTokens: number,
): DataBlock[] {
  if (steps.length === 0) return [];
  const list: DataBlock = { label: 'steps so far', url: null, text: steps.map(lineOf).join('\n') };
  let room = maxTokens - model.countTokens(list.text);
  const results: DataBlock[] = [];
  for (const { n, action, observation } of steps.toReversed()) {
    const text = cutTo(observation.text, room, model);
    if (text === null) break;
    room -= model.countTokens(text);
    results.unshift({ label: `result of step ${n} (${action.action})`, url: observation.url, text });
  }
  return [list, ...results];
}

function lineOf({ n, action }: AgentStep): string {
  return `${n}. ${action.action} ${JSON.stringify(action.input).slice(0, MAX_SHOWN_INPUT)}`;
}

/** The beginning of a text; null when there is no room for anything of it. */
export function cutTo(text: string, tokens: number, model: Pick<LanguageModel, 'countTokens'>): string | null {
  const size = model.countTokens(text);
  if (size <= tokens) return text;
  if (tokens < MIN_CUT_TOKENS) return null;
  return text.slice(0, Math.floor(text.length * (tokens / size))) + CUT;
}
