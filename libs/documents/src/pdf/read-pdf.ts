import type { PdfSpec } from '@troupe/contracts';
import type { DocumentContent } from '../document-content.js';
import type { Ocr } from '../ocr.js';
import { unreadable } from '../unreadable.js';

export function readPdf(
  _body: Uint8Array,
  _spec: PdfSpec,
  _limits: { timeoutMs: number; ocr: Ocr | null },
): Promise<DocumentContent> {
  return Promise.reject(unreadable('PDF files cannot be read'));
}
