/**
 * Asks an extractor for a page's formats that a language model writes. Failures are part of the answer: the page may do
 * without.
 */
import { Inject, Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import {
  errorToWire,
  RPC,
  TroupeError,
  type ErrorWire,
  type ModelPart,
  type PageModelReply,
  type PageModelRequest,
  type PageTexts,
  type TraceParent,
} from '@troupe/contracts';
import { Rpc } from '@troupe/messaging';

export type PageQuestion = Omit<PageModelRequest, 'id' | 'deadlineMs'>;
export type PageAnswer = Omit<Extract<PageModelReply, { ok: true }>, 'ok'>;

export interface AskLimits {
  /** Time left for the model and for telling the caller. */
  leftMs: number;
  signal: AbortSignal;
  /** Trace of the page, when it is recorded. */
  trace?: TraceParent;
}

/** Characters of one text that are passed on; far more than a request's budget of tokens can read. */
const MAX_TEXT_CHARS = 2_000_000;
/** With less time no model is asked. */
const MIN_MODEL_MS = 100;
/** Time kept back for sending the page after a model that was too slow. */
const MAX_MARGIN_MS = 500;
const MARGIN_SHARE = 0.1;

@Injectable()
export class PageModels {
  constructor(@Inject(Rpc) private readonly rpc: Pick<Rpc, 'call'>) {}

  /** Waits for a free extractor, and for the model, as long as there is time. Rejects only with the signal's reason. */
  async ask(question: PageQuestion, texts: PageTexts, { leftMs, signal, trace }: AskLimits): Promise<PageAnswer> {
    const { texts: sent, warnings } = bounded(texts);
    if (texts.markdown.trim() === '')
      return failed(question, new TroupeError('SCRAPE_JSON_FAILED', 'The page has no text'));
    const timeoutMs = Math.floor(leftMs - Math.min(MAX_MARGIN_MS, MARGIN_SHARE * leftMs));
    if (timeoutMs < MIN_MODEL_MS) return failed(question, tooLate());
    try {
      const request: PageModelRequest = { ...question, id: randomUUID(), deadlineMs: timeoutMs };
      const body = Buffer.from(JSON.stringify(sent));
      const { head } = await this.rpc.call<PageModelReply>(RPC.pageModel, request, body, { timeoutMs, signal, trace });
      if (!head.ok) return failed(question, head.error);
      return { ...head, warnings: [...head.warnings, ...warnings] };
    } catch (error) {
      signal.throwIfAborted();
      return failed(question, asModelError(error));
    }
  }
}

function bounded(texts: PageTexts): { texts: PageTexts; warnings: string[] } {
  const cut = (text: string | undefined) => text?.slice(0, MAX_TEXT_CHARS);
  const isCut = Object.values(texts).some((text: string) => text.length > MAX_TEXT_CHARS);
  if (!isCut) return { texts, warnings: [] };
  const { markdown, previous, html } = texts;
  return {
    texts: {
      markdown: markdown.slice(0, MAX_TEXT_CHARS),
      ...(previous === undefined ? {} : { previous: cut(previous) }),
      ...(html === undefined ? {} : { html: cut(html) }),
    },
    warnings: [`The page was trimmed to ${MAX_TEXT_CHARS} characters for the language model.`],
  };
}

function failed(question: PageQuestion, error: TroupeError | ErrorWire): PageAnswer {
  const wire = error instanceof TroupeError ? errorToWire(error) : error;
  const parts: ModelPart[] = question.formats.map(({ type }) => type);
  if (question.changes !== null) parts.push('changes');
  return { parts: {}, tokens: 0, warnings: [], failures: parts.map((what) => ({ what, error: wire })) };
}

/** Names of NATS subjects mean nothing to the caller of a page. */
function asModelError(error: unknown): TroupeError | ErrorWire {
  const wire = errorToWire(error);
  if (wire.code === 'SCRAPE_TIMEOUT') return tooLate(error);
  if (wire.code !== 'CONCURRENCY_QUEUE_TIMEOUT') return wire;
  return new TroupeError('SCRAPE_JSON_FAILED', 'No extractor had a free place in time', {
    cause: error,
    retryable: true,
  });
}

function tooLate(cause?: unknown): TroupeError {
  return new TroupeError('SCRAPE_TIMEOUT', 'The language model did not answer within the time of the page', {
    cause,
    retryable: true,
  });
}
