import type { Models } from '../models/model.js';
import type { PageReader } from '../extract/pages.handler.js';
export function tmpReader(models: Models): PageReader {
  return {
    async answer(request, texts, signal) {
      const model = await models.of(request.team);
      const format = request.formats[0] as { prompt: string; schema: Record<string, unknown> | null };
      const { value, tokens } = await model.ask(
        {
          purpose: 'json',
          team: request.team,
          instructions: 'x',
          request: format.prompt,
          data: [{ label: 'page', url: request.url, text: texts.markdown }],
          schema: format.schema ?? { type: 'object' },
        },
        { deadlineMs: request.deadlineMs, signal },
      );
      return { ok: true, parts: { json: value }, tokens: tokens.prompt + tokens.answer, warnings: [], failures: [] };
    },
  };
}
