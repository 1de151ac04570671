/** How much one page may bring beside its DOM: with all of it, an answer must still fit into one message of the bus. */
const MAX_FILE_BYTES = 6 * 1024 * 1024;
/** Texts shrink to a fraction on their way. */
const MAX_TEXT_CHARS = 20 * 1024 * 1024;

export class CaptureRoom {
  private fileBytes = 0;
  private textChars = 0;

  static readonly maxFileMb = MAX_FILE_BYTES / 1024 / 1024;
  static readonly maxTextMb = MAX_TEXT_CHARS / 1024 / 1024;

  /** False: the file does not fit any more, and nothing was taken. */
  takeFile(bytes: number): boolean {
    if (this.fileBytes + bytes > MAX_FILE_BYTES) return false;
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
