export { brotliAside, isGzip, isPacked, packDocument, packDocumentAside, unpackDocument } from './packed-document.js';
