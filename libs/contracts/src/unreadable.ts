/** Why a file cannot become a document: errors that end the page and are not worth a retry. */
import { TroupeError } from './errors.js';

/** Thrown when a file is damaged, locked, hostile or of a kind without a reader. */
export function unreadable(why: string, cause?: unknown): TroupeError {
  return new TroupeError('SCRAPE_UNSUPPORTED_FILE_ERROR', why, cause === undefined ? {} : { cause });
}

/** Runs `read`. Errors of its parsers become an error of the file, our own errors stay. */
export async function readingFile<R>(what: string, read: () => R | Promise<R>): Promise<R> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof TroupeError) throw error;
    const reason = error instanceof Error ? error.message.split('\n', 1)[0]!.slice(0, 200) : 'unknown reason';
    throw unreadable(`The ${what} is damaged and cannot be read: ${reason}`, error);
  }
}
