export { documentKindOf, type DocumentKind, type DocumentSource } from './document-kind.js';
export { isBinaryDocument, readDocument, tooLargeToReturn, type DocumentReading } from './read-document.js';
