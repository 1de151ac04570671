/** The `webhook` of a body that starts a job: the same words in every version (docs/api/webhooks.md). */
import { WEBHOOK_EVENTS_OF, WEBHOOK_SUBJECTS, type JobKind } from '@troupe/contracts';
import { parseUrl } from '@troupe/frontier';
import { Field, headersIssues, isPlainObject, keyIssues, listIssues, textIssues } from '../validation/fields.js';
import { customIssue, invalidUrl, notInEnum, under, wrongType, type Issue } from '../validation/issue.js';

/** As it may be sent; optional keys may be null. */
export type WebhookInput =
  | string
  | {
      url: string;
      headers?: Record<string, string> | null;
      metadata?: Record<string, unknown> | null;
      events?: string[] | null;
    };

const KEYS = ['url', 'headers', 'metadata', 'events'];
const MAX_URL_CHARS = 2_048;
const MAX_METADATA_BYTES = 8 * 1024;
const MAX_EVENTS = 50;
const OVERRIDDEN = new Set([
  'content-type',
  'content-length',
  'host',
  'x-firecrawl-signature',
  'x-troupe-signature-previous',
]);
/** Crawls and batches take each other's events. */
const PAGE_JOBS: readonly JobKind[] = ['crawl', 'batch'];

/** An address, or an object with one. @param kinds those whose events may be named */
export function WebhookField(kinds: readonly JobKind[] = PAGE_JOBS): PropertyDecorator {
  const names = eventNamesOf(kinds);
  return Field((value) => webhookIssues(value, names), { verbatim: true, schema: schemaOf(names) });
}

function eventNamesOf(kinds: readonly JobKind[]): string[] {
  const short = kinds.flatMap((kind) => WEBHOOK_EVENTS_OF[kind]);
  const full = kinds.flatMap((kind) => WEBHOOK_EVENTS_OF[kind].map((event) => `${WEBHOOK_SUBJECTS[kind]}.${event}`));
  return [...new Set<string>([...short, ...full])];
}

function schemaOf(names: string[]): Record<string, unknown> {
  return {
    anyOf: [
      { type: 'string', format: 'uri' },
      {
        type: 'object',
        required: ['url'],
        properties: {
          url: { type: 'string', format: 'uri', maxLength: MAX_URL_CHARS },
          headers: { type: 'object', additionalProperties: { type: 'string' } },
          metadata: { type: 'object' },
          events: { type: 'array', items: { type: 'string', enum: names }, maxItems: MAX_EVENTS },
        },
      },
    ],
  };
}

function webhookIssues(value: unknown, names: readonly string[]): Issue[] {
  if (typeof value === 'string') return addressIssues(value);
  if (!isPlainObject(value)) return [wrongType('object', value)];
  return [
    ...keyIssues(value, KEYS),
    ...under(['url'], addressIssues(value.url)),
    ...given('headers', value, (headers) => headersIssues(headers, { overridden: OVERRIDDEN })),
    ...given('metadata', value, metadataIssues),
    ...given('events', value, (events) =>
      listIssues(events, (event) => eventIssues(event, names), { maxItems: MAX_EVENTS }),
    ),
  ];
}

function given(key: string, body: Record<string, unknown>, check: (value: unknown) => Issue[]): Issue[] {
  const value = body[key];
  return value === undefined || value === null ? [] : under([key], check(value));
}

function addressIssues(value: unknown): Issue[] {
  const issues = textIssues(value, { maxLength: MAX_URL_CHARS });
  if (issues.length > 0) return issues;
  const text = value as string;
  return /^https?:\/\//i.test(text) && parseUrl(text) !== null ? [] : [invalidUrl('Invalid url')];
}

function metadataIssues(value: unknown): Issue[] {
  if (!isPlainObject(value)) return [wrongType('object', value)];
  const bytes = Buffer.byteLength(JSON.stringify(value));
  return bytes > MAX_METADATA_BYTES
    ? [customIssue(`Webhook metadata may take at most ${MAX_METADATA_BYTES} bytes of JSON, not ${bytes}`)]
    : [];
}

function eventIssues(value: unknown, names: readonly string[]): Issue[] {
  if (typeof value !== 'string') return [wrongType('string', value)];
  return names.includes(value) ? [] : [notInEnum([...names], value)];
}
