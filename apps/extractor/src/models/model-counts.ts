import type { Metrics } from '@troupe/observability';
import type { CallReport } from './chat-model.js';
import { RUNGS } from './providers/provider.js';

/** Counts calls to models, their time and tokens, and answers that do not fit. */
export function modelCounts(metrics: Metrics): (report: CallReport) => void {
  const seconds = metrics.histogram({
    name: 'troupe_model_call_seconds',
    help: 'Time of an answer, with its repairs and the waits that the provider asked for',
  });
  const calls = metrics.counter({
    name: 'troupe_model_calls_total',
    help: 'Questions to models by what they were for and what came of them',
    labels: ['purpose', 'outcome'],
  });
  const tokens = metrics.counterOf(
    { name: 'troupe_model_tokens_total', help: 'Tokens of prompts and of answers, of failed calls too' },
    'kind',
    ['prompt', 'answer'],
  );
  const repairs = metrics.counterOf(
    {
      name: 'troupe_model_repairs_total',
      help: 'Answers that did not satisfy their schema at first, by how they were asked for',
    },
    'rung',
    RUNGS,
  );
  return ({ purpose, rung, ms, tokens: { prompt, answer }, outcome }) => {
    seconds.observe(ms / 1000);
    calls.inc({ purpose, outcome });
    tokens.inc('prompt', prompt);
    tokens.inc('answer', answer);
    if (outcome === 'repaired' && rung !== null) repairs.inc(rung);
  };
}
