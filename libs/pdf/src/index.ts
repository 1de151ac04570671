export { readPdf } from './read-pdf.js';
