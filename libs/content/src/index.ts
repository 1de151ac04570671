export { convertDocument, returnFile, type DocumentParts } from './convert-document.js';
export { convertPage, type PageRules } from './convert-page.js';
export type { FitSchema } from './pages-to-write.js';
export { decodeBody } from './charset.js';
export { kindOfContent, type ContentKind } from './media-type.js';
export type { LinkRules } from './links.js';
export { pickFacts, type Facts } from './facts/pick-facts.js';
export { readSelectors, writeSelectors, type ReadSelectors, type SelectorProblem } from './facts/selector-language.js';
