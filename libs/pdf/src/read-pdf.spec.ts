import { describe, expect, test } from '@jest/globals';
import { DEFAULT_PDF, type ErrorCode, type Ocr, type PdfSpec, type Raster } from '@troupe/contracts';
import { deflated, HEIGHT, paragraph, WIDTH, writeObjects, writePdf, type PageContent } from './pdf-writer.fixture.js';
import { readPdf } from './read-pdf.js';

const LIMITS = { timeoutMs: 60_000, ocr: null };

async function read(pages: PageContent[], spec: Partial<PdfSpec> = {}, ocr: Ocr | null = null) {
  return readPdf(writePdf(pages), { ...DEFAULT_PDF, ...spec }, { ...LIMITS, ocr });
}

async function htmlOf(page: PageContent): Promise<string> {
  return (await read([page])).parts[0]!;
}

async function expectCode(body: Uint8Array, code: ErrorCode, timeoutMs = 20_000): Promise<void> {
  const startedAt = performance.now();
  await expect(readPdf(body, DEFAULT_PDF, { timeoutMs, ocr: null })).rejects.toMatchObject({ code });
  expect(performance.now() - startedAt).toBeLessThan(timeoutMs + 15_000);
}

const WORDS = 'alpha beta gamma delta epsilon zeta eta theta iota kappa lambda'.split(' ');
/** Lines of about 40 characters that all differ. */
function prose(from: number, count: number): string[] {
  return Array.from({ length: count }, (_, i) => {
    const words = Array.from({ length: 6 }, (_each, j) => WORDS[(from + i * 5 + j * 3) % WORDS.length]!);
    return `line${from + i} ${words.join(' ')}`.slice(0, 42).trimEnd();
  });
}

describe('reading order', () => {
  test('two columns under a title are read one after the other, and text across both in its place', async () => {
    const html = await htmlOf({
      texts: [
        { x: 150, y: 60, text: 'A title across both of the columns', size: 18 },
        ...paragraph(50, 100, prose(100, 10)),
        ...paragraph(320, 103, prose(200, 10)),
        {
          x: 50,
          y: 260,
          text: 'This sentence runs across the page from one column to the end of the other one, middle.',
          size: 13,
        },
        ...paragraph(50, 300, prose(300, 10)),
        ...paragraph(320, 300, prose(400, 10)),
      ],
    });
    const order = [
      'A title',
      'line100',
      'line109',
      'line200',
      'line209',
      'This sentence',
      'line300',
      'line309',
      'line400',
      'line409',
    ];
    const places = order.map((text) => html.indexOf(text));
    expect(places).not.toContain(-1);
    expect(places).toEqual([...places].sort((a, b) => a - b));
  });

  test('words broken at a line end are joined, and those with a hyphen of their own keep it', async () => {
    const html = await htmlOf({
      texts: paragraph(50, 100, [
        'The well-known captain of the ship was interested in the naviga-',
        'tion of rivers, and so he had become a well-',
        'known author of several books.',
      ]),
    });
    expect(html).toContain('navigation of rivers');
    expect(html).toContain('a well-known author');
  });

  test('heads, feet and page numbers that pages repeat are left out', async () => {
    const pages = Array.from({ length: 6 }, (_, i) => ({
      texts: [
        { x: 50, y: 40, text: `Chapter one  ${i + 1}` },
        ...paragraph(50, 200, prose(i * 20, 6)),
        { x: 300, y: 770, text: `- ${i + 1} -` },
      ],
    }));
    const { parts } = await read(pages);
    expect(parts).toHaveLength(6);
    expect(parts.join('')).not.toMatch(/Chapter one|- \d -/);
    for (const [i, part] of parts.entries()) expect(part).toContain(`line${i * 20} `);
  });
});

describe('structure', () => {
  test('large text is a heading, and sizes give the levels', async () => {
    const html = await htmlOf({
      texts: [
        { x: 50, y: 50, text: 'The whole thing', size: 22 },
        ...paragraph(50, 90, prose(1, 8)),
        { x: 50, y: 220, text: 'A part of it', size: 15, font: 'bold' },
        ...paragraph(50, 250, prose(20, 8)),
      ],
    });
    expect(html).toContain('<h1>The whole thing</h1>');
    expect(html).toContain('<h2>A part of it</h2>');
  });

  test('lists nest by their indent, and code keeps its own', async () => {
    const html = await htmlOf({
      texts: [
        { x: 50, y: 100, text: '\x95 first' },
        { x: 70, y: 114, text: '\x95 inner' },
        { x: 50, y: 128, text: '\x95 second' },
        { x: 50, y: 170, text: 'if (a) {', font: 'mono' },
        { x: 74, y: 182, text: 'return b;', font: 'mono' },
        { x: 50, y: 194, text: '}', font: 'mono' },
        ...paragraph(50, 230, prose(1, 6)),
      ],
    });
    expect(html).toContain('<ul><li>first<ul><li>inner</li></ul></li><li>second</li></ul>');
    expect(html).toContain('<pre><code>if (a) {\n    return b;\n}</code></pre>');
  });

  test('a table with lines has its cells, also those that span columns', async () => {
    const columns = [50, 150, 250, 350];
    const rows = [100, 120, 140, 160];
    const html = await htmlOf({
      lines: [
        ...rows.map((y): [number, number, number, number] => [50, y, 350, y]),
        ...[50, 350].map((x): [number, number, number, number] => [x, 100, x, 160]),
        ...[150, 250].map((x): [number, number, number, number] => [x, 120, x, 160]),
      ],
      texts: [
        { x: 150, y: 114, text: 'Everything', font: 'bold' },
        ...columns.slice(0, 3).map((x, i) => ({ x: x + 5, y: 134, text: `a${i}` })),
        ...columns.slice(0, 3).map((x, i) => ({ x: x + 5, y: 154, text: `b${i}` })),
      ],
    });
    expect(html.replaceAll('\n', '')).toContain(
      '<table><tr><th colspan="3">Everything</th></tr><tr><td>a0</td><td>a1</td><td>a2</td></tr><tr><td>b0</td><td>b1</td><td>b2</td></tr></table>',
    );
  });

  test('a table without lines is found by its columns', async () => {
    const rows = ['Ship', 'Anna', 'Gull', 'Star'].map((name, i) => [name, `1${i}:00`, `${i}.50`]);
    const html = await htmlOf({
      texts: [
        ...paragraph(50, 60, prose(1, 3)),
        ...rows.flatMap((row, r) => row.map((text, c) => ({ x: 60 + c * 90, y: 130 + r * 15, text }))),
        ...paragraph(50, 220, prose(9, 3)),
      ],
    });
    expect(html.replaceAll('\n', '')).toContain('<tr><td>Anna</td><td>11:00</td><td>1.50</td></tr>');
    expect(html.match(/<tr>/g)).toHaveLength(4);
  });

  test('links, emphasis and raised marks are kept', async () => {
    const html = await htmlOf({
      texts: [
        { x: 50, y: 100, text: 'See the report' },
        { x: 105.8, y: 96, text: '3', size: 6 },
        { x: 112, y: 100, text: 'of last year', font: 'italic' },
        { x: 166, y: 100, text: 'in which nobody is mentioned by name.' },
      ],
      link: { box: [49, 90, 105.6, 103], url: 'https://example.com/report' },
    });
    expect(html).toContain(
      '<a href="https://example.com/report">See the report</a><sup>3</sup> <em>of last year</em> in which',
    );
  });

  test('Asian text of a font that is not in the file is read through its character map', async () => {
    const body = writeObjects([
      '<< /Type /Catalog /Pages 2 0 R >>',
      '<< /Type /Pages /Count 1 /Kids [3 0 R] >>',
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${WIDTH} ${HEIGHT}] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >> >>`,
      deflated(`BT /F 14 Tf 50 700 Td <${Buffer.from('6e2f53e351fa6765', 'hex').toString('hex')}> Tj ET`),
      '<< /Type /Font /Subtype /Type0 /BaseFont /STSong-Light /Encoding /UniGB-UCS2-H /DescendantFonts [6 0 R] >>',
      '<< /Type /Font /Subtype /CIDFontType0 /BaseFont /STSong-Light /CIDSystemInfo << /Registry (Adobe) /Ordering (GB1) /Supplement 4 >> /FontDescriptor 7 0 R >>',
      '<< /Type /FontDescriptor /FontName /STSong-Light /Flags 6 /FontBBox [0 0 1000 1000] /ItalicAngle 0 /Ascent 800 /Descent -200 /CapHeight 700 /StemV 80 >>',
    ]);
    const { parts } = await readPdf(body, DEFAULT_PDF, LIMITS);
    expect(parts[0]).toContain('港口出来');
  });
});

describe('the document', () => {
  test('says what it is, how many pages it has, and how many were read', async () => {
    const info =
      "/Title (On Ships) /Author (A. Smith) /Subject (Ships) /Keywords (sea, ship) /CreationDate (D:20240102030405+01'00')";
    const pages = Array.from({ length: 5 }, (_, i) => ({ texts: paragraph(50, 100, prose(i * 10, 4)) }));
    const content = await readPdf(writePdf(pages, info), { ...DEFAULT_PDF, maxPages: 2 }, LIMITS);
    expect(content).toMatchObject({
      title: 'On Ships',
      metadata: {
        author: 'A. Smith',
        description: 'Ships',
        keywords: 'sea, ship',
        dcDateCreated: '2024-01-02T02:04:05.000Z',
      },
      pages: { read: 2, total: 5 },
      warning: null,
    });
    expect(content.parts).toHaveLength(2);
  });

  test('what looks like markup in it is text', async () => {
    expect(await htmlOf({ texts: [{ x: 50, y: 100, text: 'a <script>alert(1)</script> b' }] })).toContain(
      '&lt;script&gt;',
    );
  });
});

describe('scanned pages', () => {
  const scan = { width: 300, height: 400, gray: (x: number, y: number) => (x < 150 && y < 200 ? 0 : 255) };
  const written = { texts: paragraph(50, 100, prose(1, 5)) };

  test('need an engine when there is nothing else', async () => {
    await expectCode(writePdf([{ scan }, { scan }]), 'SCRAPE_PDF_OCR_REQUIRED');
  });

  test('are named in a warning beside pages with text, and when only embedded text is wanted', async () => {
    const mixed = await read([written, { scan }, { scan }]);
    expect(mixed.warning).toBe('Pages 2-3 are scanned and left empty: no OCR engine is configured.');
    expect(mixed.parts[1]).toBe('');
    const fast = await read([{ scan }], { mode: 'fast' });
    expect(fast).toMatchObject({ parts: [''], warning: expect.stringContaining('Page 1 is scanned') });
  });

  test('are recognised from their pixels, the right side up', async () => {
    const seen: Raster[] = [];
    const ocr: Ocr = {
      recognise: async (picture) => {
        seen.push(picture as Raster);
        return 'One para-\ngraph\n\nand <another>';
      },
    };
    const { parts, warning } = await read([written, { scan }], {}, ocr);
    expect(parts[0]).toContain('line1 ');
    expect(parts[1]).toBe('<p>One paragraph</p>\n<p>and &lt;another&gt;</p>');
    expect(warning).toBeNull();
    const [{ width, height, rgba }] = seen as [Raster];
    const grayAt = (x: number, y: number) => rgba[(Math.floor(y * height) * width + Math.floor(x * width)) * 4];
    expect([grayAt(0.25, 0.25), grayAt(0.75, 0.25), grayAt(0.25, 0.75), grayAt(0.75, 0.75)]).toEqual([
      0, 255, 255, 255,
    ]);
  });

  test('an empty page is not a scanned one', async () => {
    expect((await read([written, {}])).warning).toBeNull();
  });
});

describe('hostile files end in an error of the file, in time', () => {
  const page = (contents: string, extra = '') =>
    `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents ${contents} /Resources << >> ${extra} >>`;
  const CATALOG = '<< /Type /Catalog /Pages 2 0 R >>';

  test('no PDF at all, and nothing after the header', async () => {
    await expectCode(Buffer.from('<html>no</html>'), 'SCRAPE_UNSUPPORTED_FILE_ERROR');
    await expectCode(Buffer.from(`%PDF-1.7\n${'garbage '.repeat(1000)}`), 'SCRAPE_UNSUPPORTED_FILE_ERROR');
  });

  test('a stream that expands beyond all use is refused before it fills the memory', async () => {
    const bomb = deflated(Buffer.alloc(320 * 1024 * 1024, 0x20));
    const file = writeObjects([CATALOG, '<< /Type /Pages /Count 1 /Kids [3 0 R] >>', page('4 0 R'), bomb]);
    const before = process.memoryUsage().rss;
    await expectCode(file, 'SCRAPE_UNSUPPORTED_FILE_ERROR');
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024);
  });

  test('a tree of pages that holds itself', async () => {
    await expectCode(
      writeObjects([CATALOG, '<< /Type /Pages /Count 5 /Kids [2 0 R 2 0 R] >>']),
      'SCRAPE_UNSUPPORTED_FILE_ERROR',
    );
  });

  test('a file that needs a password', async () => {
    const body = writeObjects(
      [
        CATALOG,
        '<< /Type /Pages /Count 1 /Kids [3 0 R] >>',
        page('4 0 R'),
        deflated(' '),
        `<< /Filter /Standard /V 1 /R 2 /O <${'41'.repeat(32)}> /U <${'42'.repeat(32)}> /P -4 >>`,
      ],
      '/Encrypt 5 0 R /ID [<00> <00>]',
    );
    await expect(readPdf(body, DEFAULT_PDF, LIMITS)).rejects.toMatchObject({
      code: 'SCRAPE_UNSUPPORTED_FILE_ERROR',
      message: expect.stringContaining('password'),
    });
  });

  test('arrays within arrays without end, and an object that is its own length', async () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const body = writeObjects([
      CATALOG,
      '<< /Type /Pages /Count 1 /Kids [3 0 R] >>',
      page('4 0 R', `/Deep ${deep}`),
      deflated(' '),
    ]);
    await expectCode(body, 'SCRAPE_UNSUPPORTED_FILE_ERROR');
    const loop = writeObjects([CATALOG, '<< /Type /Pages /Count 3 0 R /Kids 3 0 R >>', '3 0 R']);
    await expectCode(loop, 'SCRAPE_UNSUPPORTED_FILE_ERROR');
  });

  test('a file that was cut off, and one whose table of objects is wrong, which can be read all the same', async () => {
    const whole = writePdf([{ texts: paragraph(50, 100, prose(1, 5)) }, { texts: paragraph(50, 100, prose(50, 5)) }]);
    await expectCode(whole.subarray(0, whole.length / 2), 'SCRAPE_UNSUPPORTED_FILE_ERROR');
    const lost = Buffer.from(whole.toString('latin1').replace(/startxref\n\d+/, 'startxref\n99999'), 'latin1');
    const { parts } = await readPdf(lost, DEFAULT_PDF, LIMITS);
    expect(parts[0]).toContain('line1 ');
  });

  test('more pages than the time allows: the error names the time they need', async () => {
    const kids = '3 0 R '.repeat(20_000);
    const body = writeObjects([
      CATALOG,
      `<< /Type /Pages /Count 20000 /Kids [${kids}] >>`,
      page('4 0 R'),
      deflated('0 0 m 1 1 l S '.repeat(2_000)),
    ]);
    const startedAt = performance.now();
    const failure = await readPdf(body, DEFAULT_PDF, { timeoutMs: 3_000, ocr: null }).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      code: 'SCRAPE_PDF_INSUFFICIENT_TIME_ERROR',
      message: expect.stringMatching(/about \d+ ms/),
    });
    expect(performance.now() - startedAt).toBeLessThan(15_000);
    expect((failure as { details: { neededMs: number } }).details.neededMs).toBeGreaterThan(3_000);
  });
});

test('five hundred pages are read in flat memory', async () => {
  const pages = Array.from({ length: 500 }, (_, i) => ({ texts: paragraph(50, 60, prose(i * 60, 12)) }));
  const body = writePdf(pages);
  await read(pages.slice(0, 20));
  const before = process.memoryUsage().rss;
  const { parts } = await readPdf(body, DEFAULT_PDF, { timeoutMs: 110_000, ocr: null });
  expect(parts).toHaveLength(500);
  expect(parts[499]).toContain(`line${499 * 60} `);
  expect(process.memoryUsage().rss - before).toBeLessThan(250 * 1024 * 1024);
}, 120_000);
