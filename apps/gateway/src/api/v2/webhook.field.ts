import { parseUrl } from '@troupe/frontier';
import { Field, isPlainObject } from '../validation/fields.js';
import { invalidUrl, unknownKeys, wrongType, type Issue } from '../validation/issue.js';

const WEBHOOK_KEYS = ['url', 'headers', 'metadata', 'events'];

const WEBHOOK_SCHEMA = {
  anyOf: [
    { type: 'string', format: 'uri' },
    {
      type: 'object',
      required: ['url'],
      properties: {
        url: { type: 'string', format: 'uri' },
        headers: { type: 'object', additionalProperties: { type: 'string' } },
        metadata: { type: 'object' },
        events: { type: 'array', items: { type: 'string' } },
      },
    },
  ],
};

/** An address, or an object with one (spec/webhooks.md). Checked although webhooks are not offered yet. */
export function WebhookField(): PropertyDecorator {
  return Field(
    (value) => {
      if (typeof value === 'string') return addressIssues(value, []);
      if (!isPlainObject(value)) return [wrongType('object', value)];
      const unknown = Object.keys(value).filter((key) => !WEBHOOK_KEYS.includes(key));
      return [...(unknown.length > 0 ? [unknownKeys(unknown)] : []), ...addressIssues(value.url, ['url'])];
    },
    { schema: WEBHOOK_SCHEMA },
  );
}

function addressIssues(value: unknown, path: string[]): Issue[] {
  if (typeof value !== 'string') return [wrongType('string', value, path)];
  return /^https?:\/\//i.test(value) && parseUrl(value) !== null ? [] : [invalidUrl('Invalid url', path)];
}
