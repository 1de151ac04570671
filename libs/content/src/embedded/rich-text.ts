/** Texts of JSON data, which may be HTML, escaped HTML or plain text, as HTML. */
import { decodeHTML } from 'entities/decode';

const MAX_CHARS = 100_000;
const TAG = /<\/?[a-z][^<>]{0,300}>/gi;
const HAS_TAG = /<\/?[a-z][^<>]{0,300}>/i;
const ESCAPED_TAG = /&lt;\/?[a-z]/i;

export function richText(value: unknown): string {
  if (typeof value !== 'string') return '';
  const text = value.slice(0, MAX_CHARS).trim();
  const html = ESCAPED_TAG.test(text) ? decodeHTML(text) : text;
  if (HAS_TAG.test(html)) return html;
  return html
    .split(/\n\s{0,100}\n/)
    .map((paragraph) => `<p>${escapeAngles(paragraph.trim()).replaceAll('\n', '<br>')}</p>`)
    .join('');
}

/** Words of the text, for comparison. */
export function plainText(html: string): string {
  return decodeHTML(html.replace(TAG, ' '));
}

export function escapeAngles(text: string): string {
  return text.replaceAll('<', '&lt;');
}
