/**
 * Limit of all files of one page beside its DOM. Where files are part of the document, it must fit into one message of
 * the bus.
 */
const MAX_CARRIED_BYTES = 6 * 1024 * 1024;
const MAX_STORED_BYTES = 32 * 1024 * 1024;
/** Texts shrink to a fraction on their way. */
const MAX_TEXT_CHARS = 20 * 1024 * 1024;

export class CaptureRoom {
  private fileBytes = 0;
  private textChars = 0;

  static readonly maxTextMb = MAX_TEXT_CHARS / 1024 / 1024;
  private readonly maxFileBytes: number;

  /** @param storesFiles the document carries no files, only their addresses */
  constructor(storesFiles: boolean) {
    this.maxFileBytes = storesFiles ? MAX_STORED_BYTES : MAX_CARRIED_BYTES;
  }

  get maxFileMb(): number {
    return this.maxFileBytes / 1024 / 1024;
  }

  /** False: the file does not fit any more, and nothing was taken. */
  takeFile(bytes: number): boolean {
    if (this.fileBytes + bytes > this.maxFileBytes) return false;
    this.fileBytes += bytes;
    return true;
  }

  /** False: the text does not fit any more, and nothing was taken. */
  takeText(chars: number): boolean {
    if (this.textChars + chars > MAX_TEXT_CHARS) return false;
    this.textChars += chars;
    return true;
  }
}
