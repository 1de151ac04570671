/**
 * The body of an event as bytes (docs/api/webhooks.md). It follows from the event alone, so every attempt, replay and
 * restart posts the same bytes and the same signature fits.
 */
import { eventAt, RESERVED_METADATA_KEYS, WEBHOOK_SUBJECTS, webhookIdOf, type Post } from '@troupe/contracts';
import { topLevelValue } from './json-value.js';

/** Larger bodies are sent without the content of their page. */
export const MAX_BODY_BYTES = 10 * 1024 * 1024;
/** Larger page metadata is reduced to the keys of the API. */
const MAX_METADATA_BYTES = 1024 * 1024;

const NOTHING = Buffer.alloc(0);

/** @param document JSON bytes of the page or other data of the event; null for events without data */
export function eventBody(post: Post, eventNo: number, document: Buffer | null): Buffer {
  const event = eventAt(post, eventNo);
  const head = {
    success: event !== 'failed' && event !== 'cancelled',
    type: `${WEBHOOK_SUBJECTS[post.kind]}.${event}`,
    id: post.job,
    webhookId: webhookIdOf(post.job, eventNo),
  };
  const opening = Buffer.from(`${JSON.stringify(head).slice(0, -1)},"data":[`);
  const error = event === 'failed' || event === 'cancelled' ? (post.end?.error ?? DEFAULT_ERRORS[event]) : null;
  const closing = Buffer.from(`],"metadata":${post.webhook.metadata},"error":${JSON.stringify(error)}}`);
  const frame = opening.length + closing.length;
  const isTooLarge = document !== null && document.length + frame > MAX_BODY_BYTES;
  const data = isTooLarge ? withoutContent(document) : (document ?? NOTHING);
  return Buffer.concat([opening, data, closing]);
}

const DEFAULT_ERRORS = { failed: 'The job failed', cancelled: 'The job was cancelled' } as const;

function withoutContent(document: Buffer): Buffer {
  const warning = 'The page is too large for a webhook (above 10 MB): read it from the results of the job.';
  const metadata = topLevelValue(document, 'metadata') ?? Buffer.from('{}');
  const opening = Buffer.from(`{"warning":${JSON.stringify(warning)},"metadata":`);
  return Buffer.concat([
    opening,
    metadata.length > MAX_METADATA_BYTES ? reservedOnly(metadata) : metadata,
    Buffer.from('}'),
  ]);
}

function reservedOnly(metadata: Buffer): Buffer {
  const kept = RESERVED_METADATA_KEYS.flatMap((key) => {
    const value = topLevelValue(metadata, key);
    return value === null ? [] : [`${JSON.stringify(key)}:${value.toString()}`];
  });
  return Buffer.from(`{${kept.join()}}`);
}
