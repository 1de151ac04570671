/** Word documents, by mammoth: headings, lists, tables, notes and links by the styles of the document. */
import mammoth from 'mammoth';
import { type DocumentContent, unreadable } from '@troupe/contracts';
import { imageText } from '@troupe/html';
import { decodeXml } from '../xml.js';
import type { ZipArchive } from '../zip-archive.js';
import { OfficePackage } from './office-package.js';

/** mammoth keeps all of it as objects, which take some twenty times the room. */
const MAX_TEXT_BYTES = 32 * 1024 * 1024;
const STYLES = [
  "p[style-name='Title'] => h1:fresh",
  "p[style-name='Subtitle'] => p:fresh",
  "p[style-name='Source Code'] => pre:separator('\\n')",
  "p[style-name='HTML Preformatted'] => pre:separator('\\n')",
  "p[style-name='Preformatted Text'] => pre:separator('\\n')",
  "p[style-name='Code'] => pre:separator('\\n')",
  "p[style-name='Quote'] => blockquote > p:fresh",
  "p[style-name='Quotations'] => blockquote > p:fresh",
  "p[style-name='Intense Quote'] => blockquote > p:fresh",
  "r[style-name='HTML Code'] => code",
  "r[style-name='Source Text'] => code",
  "r[style-name='Verbatim Char'] => code",
  "r[style-name='Code'] => code",
];

/** The part of an archive that mammoth needs. */
interface MammothArchive {
  exists(name: string): boolean;
  read(name: string, encoding?: string): Promise<Uint8Array | string>;
}

export async function readDocx(archive: ZipArchive): Promise<DocumentContent> {
  // An archive instead of its bytes, which mammoth's types do not know of: ours is bounded.
  const input = { file: boundedArchive(archive) } as unknown as Parameters<typeof mammoth.convertToHtml>[0];
  const alts: string[] = [];
  const { value } = await mammoth.convertToHtml(input, {
    styleMap: STYLES,
    includeEmbeddedStyleMap: false,
    externalFileAccess: false,
    convertImage: mammoth.images.imgElement((image) => {
      const { altText } = image as { altText?: string };
      alts.push(imageText(altText));
      return Promise.resolve({ src: `${IMAGE_MARK}${alts.length - 1}` });
    }),
  });
  const html = value.replace(IMAGE, (_, index: string) => alts[Number(index)] ?? '');
  return { parts: [html], ...new OfficePackage(archive).properties(), pages: null, warning: null };
}

const IMAGE_MARK = 'troupe-image:';
const IMAGE = /<img[^>]{0,2000}? src="troupe-image:(\d+)"[^>]{0,2000}?\/?>/g;

function boundedArchive(archive: ZipArchive): MammothArchive {
  return {
    exists: (name) => archive.has(name),
    read: (name, encoding) => {
      const bytes = archive.read(name);
      if (bytes === null) return Promise.reject(unreadable(`The Word document lacks its part ${name.slice(0, 100)}`));
      if (encoding === undefined) return Promise.resolve(bytes);
      if (bytes.length > MAX_TEXT_BYTES) {
        return Promise.reject(unreadable(`The Word document has more than ${MAX_TEXT_BYTES / 1024 / 1024} MB of text`));
      }
      return Promise.resolve(encoding === 'base64' ? Buffer.from(bytes).toString('base64') : decodeXml(bytes));
    },
  };
}
