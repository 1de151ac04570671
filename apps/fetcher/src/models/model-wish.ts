/** The formats that a language model has to write, and those that the conversion must give it. Pure. */
import type { ModelFormat, PageDocument, ScrapeSpec } from '@troupe/contracts';
import { isModelFormat } from '@troupe/formats';

/** Formats that a model writes; those that selectors answer are made by the conversion. */
export function modelFormatsOf({ formats }: Pick<ScrapeSpec, 'formats'>): ModelFormat[] {
  return formats.filter(isModelFormat);
}

/** A model may have work with each of the pages. */
export function mayNeedModel(spec: ScrapeSpec): boolean {
  if (spec.zeroRetention) return false;
  return modelFormatsOf(spec).length > 0 || spec.changeTracking?.json != null;
}

/** Formats that a model reads and the request did not ask for. */
function addedFormats(spec: ScrapeSpec): ('markdown' | 'html')[] {
  const formats = spec.zeroRetention ? [] : modelFormatsOf(spec);
  if (formats.length === 0) return [];
  const learns = formats.some((format) => format.type === 'json' && format.learn);
  const read = learns ? (['markdown', 'html'] as const) : (['markdown'] as const);
  return read.filter((name) => !spec.formats.some(({ type }) => type === name));
}

/** The spec under which a page is fetched and converted, so that a model can read it. */
export function readingSpec(spec: ScrapeSpec): ScrapeSpec {
  const added = addedFormats(spec).map((type) => ({ type }));
  return added.length === 0 ? spec : { ...spec, formats: [...spec.formats, ...added] };
}

/** The document of such a page as its caller wants it. */
export function withoutReading(document: PageDocument, spec: ScrapeSpec): PageDocument {
  const added: readonly string[] = addedFormats(spec);
  if (added.length === 0) return document;
  return Object.fromEntries(
    Object.entries(document).filter(([key]) => !added.includes(key)),
  ) as unknown as PageDocument;
}
