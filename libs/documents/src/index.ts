export * from './document-content.js';
export * from './ocr.js';
export { readPdf, type PdfLimits } from './pdf/read-pdf.js';
