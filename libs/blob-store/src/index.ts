export * from './artifacts.js';
export * from './blob-gatherer.js';
export * from './blob-store.js';
export * from './fs.store.js';
export * from './blob-roots.js';
export { S3BlobStore, S3Bucket, type S3Place } from './s3.store.js';
export { isLost, readDocument, type StoredDocument } from './stored-document.js';
export * from './stored-documents.js';
