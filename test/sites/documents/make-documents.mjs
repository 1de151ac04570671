/**
 * Makes the labelled PDFs of this folder: `node test/sites/documents/make-documents.mjs`. Needs a Chromium (CHROMIUM_PATH) and
 * LibreOffice (`soffice`); the PDFs are kept beside this script, so that specs need neither.
 *
 * Every document is written down once, as blocks. The blocks become HTML that a browser prints and FODT that LibreOffice exports, and
 * they are the labels: what must be found in the PDFs `<document>-*.pdf`, in which order.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { format } from 'prettier';

const here = path.dirname(fileURLToPath(import.meta.url));

/**
 * @typedef {{ type: 'h', level: number, text: string } | { type: 'p', text: string } | { type: 'ul' | 'ol', items: (string | string[])[] }
 *   | { type: 'table', rows: string[][], isRuled: boolean } | { type: 'pre', text: string }} Block
 */

const SUBJECTS = [
  'The harbour',
  'A lighthouse',
  'Each ferry',
  'The council',
  'An engineer',
  'The survey',
  'Every captain',
  'The tide',
];
const VERBS = ['records', 'measures', 'compares', 'publishes', 'repairs', 'describes', 'questions', 'archives'];
const OBJECTS = [
  'the depth of the channel',
  'a list of arrivals',
  'the weight of the cargo',
  'several earlier reports',
  'the lamps along the quay',
  'what the instruments had shown',
  'the cost of dredging',
  'a chart of the currents',
];
const ENDS = [
  'before the winter begins',
  'at the end of each quarter',
  'without waiting for permission',
  'in spite of the weather',
  'as the regulations require',
  'for the benefit of travellers',
  'with considerable precision',
  'although nobody had asked',
];

/** Sentences that differ from each other, the same ones every time. @param {number} seed @param {number} count */
function prose(seed, count) {
  const pick = (/** @type {string[]} */ list, /** @type {number} */ n) => list[(seed * 7 + n) % list.length];
  return Array.from({ length: count }, (_, i) => {
    const number = seed * 100 + i;
    return `${pick(SUBJECTS, i * 3 + seed)} ${pick(VERBS, i * 5)} ${pick(OBJECTS, i * 3 + 1)} ${pick(ENDS, i + seed)}, note ${number}.`;
  }).join(' ');
}

/** @param {number} seed @param {number} sentences @returns {Block} */
const p = (seed, sentences) => ({ type: 'p', text: prose(seed, sentences) });
/** @param {number} level @param {string} text @returns {Block} */
const h = (level, text) => ({ type: 'h', level, text });

const TIMES = [
  ['Ferry', 'Departure', 'Arrival', 'Fare'],
  ['Northern Star', '07:15', '09:40', '12.50'],
  ['Old Anna', '08:00', '08:35', '4.00'],
  ['Merchant', '11:20', '16:05', '31.75'],
  ['Gull', '13:00', '13:25', '2.80'],
  ['Meridian', '18:45', '23:10', '44.00'],
];
const WORDY = [
  ['Term', 'Meaning'],
  [
    'Ballast',
    'Heavy material that is carried low in the hull so that the ship stays upright when it sails without any cargo',
  ],
  ['Draught', 'The depth of water that a ship needs so as not to touch the ground'],
  ['Fairlead', 'A ring that guides a rope'],
];

/** @type {Record<string, { blocks: Block[], columns?: number, dir?: 'rtl', lang?: string, footer?: boolean }>} */
const DOCUMENTS = {
  article: {
    blocks: [
      h(1, 'A Report on the Harbour'),
      p(1, 4),
      h(2, 'Arrivals'),
      p(2, 5),
      {
        type: 'ul',
        items: [
          'Ships that arrive in the morning',
          'Ships that arrive at night',
          ['Those with a pilot', 'Those without one'],
          'Ships that never arrive',
        ],
      },
      p(3, 3),
      h(2, 'Procedures'),
      { type: 'ol', items: ['Call the harbour master on the radio', 'Wait for the signal', 'Enter slowly'] },
      h(3, 'Exceptions'),
      p(4, 4),
      {
        type: 'pre',
        text: 'function dock(ship) {\n    if (ship.isLate) {\n        return null;\n    }\n    return berth(ship);\n}',
      },
      p(5, 6),
    ],
  },
  tables: {
    blocks: [
      h(1, 'Tables of the Ferries'),
      p(6, 3),
      { type: 'table', rows: TIMES, isRuled: true },
      p(7, 3),
      { type: 'table', rows: TIMES.map((row) => row.slice(0, 3)), isRuled: false },
      p(8, 3),
      { type: 'table', rows: WORDY, isRuled: true },
      p(9, 2),
    ],
  },
  columns: {
    columns: 2,
    blocks: [
      h(1, 'Two Columns of Text'),
      p(10, 9),
      h(2, 'Methods'),
      p(11, 12),
      p(12, 10),
      h(2, 'Results'),
      p(13, 14),
      p(14, 12),
      p(15, 12),
      p(16, 14),
    ],
  },
  three: { columns: 3, blocks: [p(17, 10), p(18, 10), p(19, 10), p(20, 10)] },
  long: {
    footer: true,
    blocks: [
      h(1, 'Annual Proceedings'),
      ...Array.from({ length: 24 }, (_, i) => [h(2, `Session ${i + 1}`), p(21 + i, 9), p(51 + i, 8)]).flat(),
    ],
  },
  hebrew: {
    dir: 'rtl',
    lang: 'he',
    blocks: [
      h(1, 'דוח על הנמל'),
      {
        type: 'p',
        text: 'הנמל נפתח בבוקר והספינות הראשונות נכנסות לאט. רב החובל מדבר עם המגדלור ברדיו, ואחר כך הוא ממתין לאות. בשנת 2024 הגיעו 350 ספינות לנמל הישן, רובן בלילה.',
      },
    ],
  },
  arabic: {
    dir: 'rtl',
    lang: 'ar',
    blocks: [
      h(1, 'تقرير عن الميناء'),
      {
        type: 'p',
        text: 'يفتح الميناء أبوابه في الصباح وتدخل السفن الأولى ببطء. يتحدث القبطان مع المنارة ثم ينتظر الإشارة. وصلت سفن كثيرة إلى الميناء القديم في الليل.',
      },
    ],
  },
};

/** @param {string} text */
const escape = (text) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;');

/** @param {Block} block @returns {string} */
function blockHtml(block) {
  if (block.type === 'h') return `<h${block.level}>${escape(block.text)}</h${block.level}>`;
  if (block.type === 'p') return `<p>${escape(block.text)}</p>`;
  if (block.type === 'pre') return `<pre>${escape(block.text)}</pre>`;
  if (block.type === 'table') {
    const rows = block.rows.map(
      (row, i) => `<tr>${row.map((cell) => (i === 0 ? `<th>${cell}</th>` : `<td>${cell}</td>`)).join('')}</tr>`,
    );
    return `<table class="${block.isRuled ? 'ruled' : 'plain'}">${rows.join('')}</table>`;
  }
  const items = block.items.map((item) =>
    Array.isArray(item) ? `<ul>${item.map((each) => `<li>${each}</li>`).join('')}</ul>` : `<li>${item}</li>`,
  );
  return `<${block.type}>${items.join('')}</${block.type}>`;
}

/** @param {typeof DOCUMENTS[string]} document */
function pageOf({ blocks, columns = 1, dir = 'ltr', lang = 'en' }) {
  return `<!doctype html><html lang="${lang}" dir="${dir}"><meta charset="utf-8"><style>
    body { font: 11pt/1.35 ${dir === 'rtl' ? '"DejaVu Sans"' : '"Liberation Serif"'}; text-align: ${dir === 'rtl' ? 'right' : 'justify'}; hyphens: auto; }
    main { column-count: ${columns}; column-gap: 18pt; }
    table { border-collapse: collapse; margin: 12pt 0; text-align: left } td, th { padding: 3pt 8pt } .ruled td, .ruled th { border: 1px solid #333 }
    pre { font: 9.5pt "Liberation Mono" } h1 { font-size: 20pt } h2 { font-size: 15pt } h3 { font-size: 12.5pt }
    </style><main>${blocks.map(blockHtml).join('\n')}</main></html>`;
}

/** @param {string} family @param {string} extra */
const textStyle = (family, extra) => `<style:text-properties style:font-name="${family}" ${extra}/>`;

/** A flat OpenDocument text. @param {typeof DOCUMENTS[string]} document */
function fodtOf({ blocks, columns = 1 }) {
  const heading = (/** @type {number} */ n, /** @type {number} */ size) =>
    `<style:style style:name="H${n}" style:family="paragraph"><style:paragraph-properties fo:margin-top="0.4cm" fo:margin-bottom="0.2cm"/>${textStyle('Liberation Sans', `fo:font-size="${size}pt" fo:font-weight="bold"`)}</style:style>`;
  const body = blocks.map((block) => {
    if (block.type === 'h')
      return `<text:h text:outline-level="${block.level}" text:style-name="H${block.level}">${escape(block.text)}</text:h>`;
    if (block.type === 'p') return `<text:p text:style-name="P">${escape(block.text)}</text:p>`;
    if (block.type === 'pre')
      return block.text
        .split('\n')
        .map(
          (line) =>
            `<text:p text:style-name="C">${escape(line).replace(/ {2,}/g, (gap) => `<text:s text:c="${gap.length}"/>`)}</text:p>`,
        )
        .join('');
    if (block.type === 'table') {
      const rows = block.rows.map(
        (row, i) =>
          `<table:table-row>${row.map((cell) => `<table:table-cell table:style-name="${block.isRuled ? 'cell' : 'open'}" office:value-type="string"><text:p text:style-name="${i === 0 ? 'B' : 'T'}">${cell}</text:p></table:table-cell>`).join('')}</table:table-row>`,
      );
      return `<table:table table:name="t"><table:table-column table:number-columns-repeated="${block.rows[0].length}"/>${rows.join('')}</table:table>`;
    }
    const style = block.type === 'ol' ? 'numbers' : 'bullets';
    const items = block.items.map((item) =>
      Array.isArray(item)
        ? `<text:list-item><text:list>${item.map((each) => `<text:list-item><text:p text:style-name="P">${each}</text:p></text:list-item>`).join('')}</text:list></text:list-item>`
        : `<text:list-item><text:p text:style-name="P">${item}</text:p></text:list-item>`,
    );
    return `<text:list text:style-name="${style}">${items.join('')}</text:list>`;
  });
  const level = (/** @type {number} */ n) =>
    `<style:list-level-properties text:list-level-position-and-space-mode="label-alignment"><style:list-level-label-alignment text:label-followed-by="listtab" fo:text-indent="-0.6cm" fo:margin-left="${0.6 + n * 0.6}cm"/></style:list-level-properties>`;
  const bullets = [0, 1].map(
    (n) =>
      `<text:list-level-style-bullet text:level="${n + 1}" text:bullet-char="${n === 0 ? '•' : '◦'}">${level(n)}</text:list-level-style-bullet>`,
  );
  return `<?xml version="1.0" encoding="UTF-8"?><office:document xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0" xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0" office:version="1.3" office:mimetype="application/vnd.oasis.opendocument.text">
<office:font-face-decls>${['Liberation Serif', 'Liberation Sans', 'Liberation Mono'].map((name) => `<style:font-face style:name="${name}" svg:font-family="'${name}'"/>`).join('')}</office:font-face-decls>
<office:automatic-styles>${heading(1, 20)}${heading(2, 15)}${heading(3, 12.5)}
<style:style style:name="P" style:family="paragraph"><style:paragraph-properties fo:text-align="justify" fo:margin-bottom="0.2cm"/>${textStyle('Liberation Serif', 'fo:font-size="11pt" fo:language="en" fo:country="GB" fo:hyphenate="true"')}</style:style>
<style:style style:name="C" style:family="paragraph">${textStyle('Liberation Mono', 'fo:font-size="9.5pt"')}</style:style>
<style:style style:name="T" style:family="paragraph">${textStyle('Liberation Serif', 'fo:font-size="11pt"')}</style:style>
<style:style style:name="B" style:family="paragraph">${textStyle('Liberation Serif', 'fo:font-size="11pt" fo:font-weight="bold"')}</style:style>
<style:style style:name="cell" style:family="table-cell"><style:table-cell-properties fo:border="0.5pt solid #000000" fo:padding="0.1cm"/></style:style>
<style:style style:name="open" style:family="table-cell"><style:table-cell-properties fo:border="none" fo:padding="0.1cm"/></style:style>
<style:style style:name="S" style:family="section"><style:section-properties><style:columns fo:column-count="${columns}" fo:column-gap="0.6cm"/></style:section-properties></style:style>
<text:list-style style:name="bullets">${bullets.join('')}</text:list-style>
<text:list-style style:name="numbers"><text:list-level-style-number text:level="1" style:num-format="1" style:num-suffix=".">${level(0)}</text:list-level-style-number></text:list-style>
</office:automatic-styles><office:body><office:text>${columns > 1 ? `<text:section text:style-name="S" text:name="s">${body.join('\n')}</text:section>` : body.join('\n')}</office:text></office:body></office:document>`;
}

/** @param {Block[]} blocks */
function labelsOf(blocks) {
  const textOf = (/** @type {Block} */ block) => {
    if (block.type === 'table') return block.rows.flat().join(' ');
    return block.type === 'ul' || block.type === 'ol' ? block.items.flat().join(' ') : block.text;
  };
  return {
    text: blocks.map(textOf).join('\n'),
    headings: blocks.flatMap((block) => (block.type === 'h' ? [[block.level, block.text]] : [])),
    tables: blocks.flatMap((block) => (block.type === 'table' ? [block.rows] : [])),
    lists: blocks.flatMap((block) => (block.type === 'ul' || block.type === 'ol' ? [block.items.flat()] : [])),
    code: blocks.flatMap((block) => (block.type === 'pre' ? [block.text] : [])),
  };
}

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium',
  args: ['--no-sandbox'],
});
const page = await browser.newPage();
const work = mkdtempSync(path.join(os.tmpdir(), 'make-documents-'));
/** @type {Record<string, object>} */
const labels = {};
for (const [name, document] of Object.entries(DOCUMENTS)) {
  labels[name] = labelsOf(document.blocks);
  await page.setContent(pageOf(document));
  const heads = document.footer
    ? {
        displayHeaderFooter: true,
        headerTemplate: '<div style="font-size:8pt;margin:0 20mm">Annual Proceedings of the Harbour</div>',
        footerTemplate:
          '<div style="font-size:8pt;margin:0 auto">Page <span class="pageNumber"></span> of <span class="totalPages"></span></div>',
      }
    : {};
  for (const tagged of [true, false]) {
    const file = `${name}-browser-${tagged ? 'tagged' : 'plain'}.pdf`;
    const pdf = await page.pdf({
      format: 'A4',
      margin: { top: '20mm', bottom: '20mm', left: '20mm', right: '20mm' },
      tagged,
      ...heads,
    });
    writeFileSync(path.join(here, file), pdf);
  }
  if (document.dir === 'rtl') continue;
  writeFileSync(path.join(work, `${name}.fodt`), fodtOf(document));
  for (const tagged of document.footer ? [false] : [true, false]) {
    const file = `${name}-office-${tagged ? 'tagged' : 'plain'}.pdf`;
    const filter = `pdf:writer_pdf_Export:{"UseTaggedPDF":{"type":"boolean","value":"${tagged}"}}`;
    const run = spawnSync('soffice', [
      '--headless',
      `-env:UserInstallation=file://${work}/profile`,
      '--convert-to',
      filter,
      '--outdir',
      work,
      path.join(work, `${name}.fodt`),
    ]);
    if (run.status !== 0) throw new Error(`soffice: ${run.stderr}`);
    writeFileSync(path.join(here, file), readFileSync(path.join(work, `${name}.pdf`)));
  }
}
await browser.close();
rmSync(work, { recursive: true, force: true });
writeFileSync(
  path.join(here, 'labels.json'),
  await format(JSON.stringify(labels), { parser: 'json', printWidth: 120 }),
);
