import { stat } from 'node:fs/promises';
import path from 'node:path';

/** The folder itself, or the nearest one above it that exists. */
export async function existingParent(folder: string): Promise<string> {
  for (let at = folder; ; at = path.dirname(path.resolve(at))) {
    const isThere = await stat(at).then(
      () => true,
      () => false,
    );
    if (isThere || path.dirname(path.resolve(at)) === path.resolve(at)) return at;
  }
}
