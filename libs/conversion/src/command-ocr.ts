/**
 * Text recognition by a program with tesseract's command line: the picture on its standard input, the text on its
 * standard output.
 *
 * The call blocks the thread, which is a conversion thread of its own: so the program never
 * outlives its time, even when the thread is told to end.
 */
import { TroupeError, type Ocr, type Raster } from '@troupe/contracts';
import { spawnSync } from 'node:child_process';

const TIMEOUT_MS = 30_000;
const MAX_TEXT_BYTES = 4 * 1024 * 1024;
const MAX_PIXELS = 50_000_000;
const MAX_LANGUAGES = 3;
const FALLBACK_LANGUAGE = 'eng';
/** tesseract's names where they are not those of ISO 639-2/T. */
const NAMES: Record<string, string> = {
  ar: 'ara',
  bg: 'bul',
  ca: 'cat',
  cs: 'ces',
  da: 'dan',
  de: 'deu',
  el: 'ell',
  en: 'eng',
  es: 'spa',
  et: 'est',
  fa: 'fas',
  fi: 'fin',
  fr: 'fra',
  he: 'heb',
  hi: 'hin',
  hr: 'hrv',
  hu: 'hun',
  id: 'ind',
  it: 'ita',
  ja: 'jpn',
  ko: 'kor',
  lt: 'lit',
  lv: 'lav',
  nl: 'nld',
  no: 'nor',
  pl: 'pol',
  pt: 'por',
  ro: 'ron',
  ru: 'rus',
  sk: 'slk',
  sl: 'slv',
  sr: 'srp',
  sv: 'swe',
  th: 'tha',
  tr: 'tur',
  uk: 'ukr',
  vi: 'vie',
  zh: 'chi_sim',
};

export class CommandOcr implements Ocr {
  private installed: ReadonlySet<string> | null = null;

  /** @param command program to run, found on PATH or by its path */
  constructor(
    private readonly command: string,
    private readonly timeoutMs: number = TIMEOUT_MS,
  ) {}

  async recognise(picture: Uint8Array | Raster, languages: readonly string[] = []): Promise<string> {
    const input = picture instanceof Uint8Array ? picture : pixmap(picture);
    const args = ['stdin', 'stdout', '-l', this.languagesOf(languages)];
    return Promise.resolve(this.run(args, input).replaceAll('\f', ''));
  }

  /** The languages that are both wanted and installed. */
  private languagesOf(wanted: readonly string[]): string {
    this.installed ??= new Set(this.run(['--list-langs'], new Uint8Array(0)).split(/\s+/));
    const names = wanted.map((one) => NAMES[one.toLowerCase().split('-')[0] ?? ''] ?? '');
    const known = [...new Set(names)].filter((name) => this.installed?.has(name) === true).slice(0, MAX_LANGUAGES);
    return known.length === 0 ? FALLBACK_LANGUAGE : known.join('+');
  }

  private run(args: string[], input: Uint8Array): string {
    const { error, status, stdout } = spawnSync(this.command, args, {
      input,
      timeout: this.timeoutMs,
      killSignal: 'SIGKILL',
      maxBuffer: MAX_TEXT_BYTES,
      env: { PATH: process.env['PATH'], OMP_THREAD_LIMIT: '1', TESSDATA_PREFIX: process.env['TESSDATA_PREFIX'] },
      windowsHide: true,
    });
    if (error === undefined && status === 0) return stdout.toString('utf8');
    const code = error === undefined ? `exit code ${status}` : Reflect.get(error, 'code');
    const reason = typeof code === 'string' ? code : 'unknown reason';
    throw new TroupeError('SCRAPE_UNSUPPORTED_FILE_ERROR', `Text recognition failed (${reason})`);
  }
}

/** Portable pixmap: the simplest picture that every program reads. */
function pixmap({ width, height, rgba }: Raster): Uint8Array {
  const pixels = width * height;
  if (pixels > MAX_PIXELS) {
    throw new TroupeError('SCRAPE_UNSUPPORTED_FILE_ERROR', 'A picture is too large for text recognition');
  }
  const head = Buffer.from(`P6\n${width} ${height}\n255\n`);
  const bytes = Buffer.alloc(head.length + pixels * 3);
  head.copy(bytes);
  for (let from = 0, to = head.length; from < pixels * 4; from += 4) {
    bytes[to++] = rgba[from]!;
    bytes[to++] = rgba[from + 1]!;
    bytes[to++] = rgba[from + 2]!;
  }
  return bytes;
}
