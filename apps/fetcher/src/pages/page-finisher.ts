/**
 * The last step of a page: adds the parts of its history and of a language model to the converter's document. The
 * document is unpacked and packed at most once, and not at all when nothing is added.
 */
import { Inject, Injectable } from '@nestjs/common';
import { errorFromWire, TroupeError, type PageDocument } from '@troupe/contracts';
import { ChangeTracker, type ChangeReport, type TrackedScrape } from '../changes/change-tracker.js';
import { isPacked, packDocumentAside, unpackDocument } from '@troupe/packing';
import { formatKind, isModelFormat, modelCredits } from '@troupe/formats';
import { mayNeedModel, modelFormatsOf, withoutReading } from '../models/model-wish.js';
import { PageModels, type AskLimits, type PageAnswer } from '../models/page-models.js';
import type { FetchedPage } from './page-fetcher.js';

@Injectable()
export class PageFinisherParts {
  @Inject(ChangeTracker) readonly changes!: Pick<ChangeTracker, 'examine'>;
  @Inject(PageModels) readonly models!: Pick<PageModels, 'ask'>;
}

type Failure = PageAnswer['failures'][number];

@Injectable()
export class PageFinisher {
  constructor(private readonly parts: PageFinisherParts) {}

  /**
   * The page as it is unless change tracking or a model's formats were asked for.
   * @throws TroupeError SCRAPE_JSON_FAILED or SCRAPE_TIMEOUT when a model gave nothing and nothing else was asked; the
   * signal's reason
   */
  async finish(page: FetchedPage, scrape: TrackedScrape, limits: AskLimits): Promise<FetchedPage> {
    const { spec } = scrape;
    const formats = modelFormatsOf(spec);
    if (spec.changeTracking === null && formats.length === 0) return page;
    const startedAt = performance.now();
    const { document, wasPacked } = await read(page);
    const changes = await this.parts.changes.examine(page, document, scrape);
    const leftMs = limits.leftMs - (performance.now() - startedAt);
    const answer = await this.write({ page, document, changes }, scrape, { ...limits, leftMs });
    if (answer !== null) refuseNothing(answer, scrape);
    return written(page, amended(document, { changes, answer }, scrape), { answer, wasPacked });
  }

  /** null: there is no format to write. */
  private async write(
    { page, document, changes }: { page: FetchedPage; document: PageDocument; changes: ChangeReport | null },
    { spec, team }: TrackedScrape,
    limits: AskLimits,
  ): Promise<PageAnswer | null> {
    const formats = modelFormatsOf(spec);
    const previous = changes?.previous;
    if (!mayNeedModel(spec) || (formats.length === 0 && previous === undefined)) return null;
    const learns = formats.some((format) => format.type === 'json' && format.learn);
    const question = {
      team,
      url: page.finalUrl,
      title: page.title,
      formats,
      changes: previous === undefined ? null : (spec.changeTracking?.json ?? null),
      zeroRetention: spec.zeroRetention,
    };
    const texts = {
      markdown: document.markdown ?? '',
      ...(previous === undefined ? {} : { previous }),
      ...(learns && document.html !== undefined ? { html: document.html } : {}),
    };
    return this.parts.models.ask(question, texts, limits);
  }
}

async function read({ document }: FetchedPage): Promise<{ document: PageDocument; wasPacked: boolean }> {
  const wasPacked = isPacked(document);
  const json = wasPacked ? await unpackDocument(document) : document;
  return { document: JSON.parse(Buffer.from(json).toString('utf8')) as PageDocument, wasPacked };
}

/** Fails the page when none of its formats is there. A failed summary costs the summary only (docs/api/formats.md). */
function refuseNothing({ parts, failures }: PageAnswer, { spec }: TrackedScrape): void {
  const failure = failures.find(({ what }) => what !== 'changes' && !formatKind(what)?.isDispensable);
  const hasOther = spec.formats.some((format) => !isModelFormat(format)) || Object.keys(parts).length > 0;
  if (failure === undefined || hasOther) return;
  const { code, retryable, message } = failure.error;
  throw new TroupeError(code === 'SCRAPE_TIMEOUT' ? code : 'SCRAPE_JSON_FAILED', message, {
    cause: errorFromWire(failure.error),
    retryable,
  });
}

interface Additions {
  changes: ChangeReport | null;
  answer: PageAnswer | null;
}

function amended(document: PageDocument, { changes, answer }: Additions, scrape: TrackedScrape): PageDocument {
  const { changeTracking, warning: changeWarning } = changes ?? {};
  const warning = [...modelWarnings(answer, scrape), changeWarning, document.warning].filter(Boolean).join(' ');
  const named = answer?.changes === undefined ? {} : { json: answer.changes };
  return {
    ...withoutReading(document, scrape.spec),
    ...partsOf(answer, scrape),
    ...(changeTracking === undefined ? {} : { changeTracking: { ...changeTracking, ...named } }),
    ...(warning === '' ? {} : { warning }),
    metadata: priced(document, answer),
  };
}

/** The values by the keys of the document. */
function partsOf(answer: PageAnswer | null, { spec }: TrackedScrape): Partial<PageDocument> {
  const { json, ...others } = answer?.parts ?? {};
  if (json === undefined) return others;
  const key = modelFormatsOf(spec).find((format) => format.type === 'json')?.key ?? 'json';
  return { ...others, [key]: json };
}

function modelWarnings(answer: PageAnswer | null, { spec }: TrackedScrape): string[] {
  if (answer !== null) return [...answer.failures.map(failureText), ...answer.warnings];
  const formats = spec.zeroRetention ? modelFormatsOf(spec).map(({ type }) => type) : [];
  return formats.length === 0 ? [] : [`With zero data retention no language model is asked for ${formats.join(', ')}.`];
}

function failureText({ what, error }: Failure): string {
  const name = what === 'changes' ? 'The json of changeTracking' : `The format ${what}`;
  return `${name} could not be made: ${error.message.replace(/\.$/, '')}.`;
}

function priced({ metadata }: PageDocument, answer: PageAnswer | null): PageDocument['metadata'] {
  const credits = creditsOf(answer);
  return credits === 0 ? metadata : { ...metadata, creditsUsed: metadata.creditsUsed + credits };
}

/** An answer is paid for; an answer without a model is free. */
function creditsOf(answer: PageAnswer | null): number {
  if (answer === null || answer.tokens === 0) return 0;
  const { parts, changes } = answer;
  const written = Object.entries(parts).filter(([, value]) => value !== undefined);
  return modelCredits([...written.map(([key]) => key), ...(changes === undefined ? [] : ['changeTracking'])]);
}

async function written(
  page: FetchedPage,
  document: PageDocument,
  { answer, wasPacked }: { answer: PageAnswer | null; wasPacked: boolean },
): Promise<FetchedPage> {
  const bytes = Buffer.from(JSON.stringify(document));
  return {
    ...page,
    document: wasPacked ? await packDocumentAside(bytes) : bytes,
    documentBytes: bytes.byteLength,
    credits: page.credits + creditsOf(answer),
  };
}
