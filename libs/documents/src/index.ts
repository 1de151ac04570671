export * from './document-content.js';
export { documentKindOf, type DocumentKind, type DocumentSource } from './document-kind.js';
export type { Ocr, Raster } from './ocr.js';
export { isBinaryDocument, readDocument, tooLargeToReturn, type DocumentReading } from './read-document.js';
