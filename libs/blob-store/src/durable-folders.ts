/**
 * Folders that are made once and remembered, each entered into its parent for good before anything is put into it: a file is
 * only as durable as every name on the way to it.
 */
import { mkdir, open } from 'node:fs/promises';
import path from 'node:path';

/** Folders that are remembered as made; beyond this all are forgotten at once. */
const MAX_KNOWN = 4_096;

export class DurableFolders {
  private readonly known = new Set<string>();

  /**
   * @param base exists, or is made by a caller that sees to its name @param sync false: names may be lost with the power
   */
  constructor(
    private readonly base: string,
    readonly sync: boolean,
  ) {}

  /** Resolves when the folder is there and stays there. Another process may have made it a moment ago, and not be through. */
  async ensure(folder: string): Promise<void> {
    if (this.known.has(folder)) return;
    await mkdir(folder, { recursive: true });
    for (const name of this.below(folder)) {
      if (this.known.has(name)) break;
      await this.settle(path.dirname(name));
    }
    if (this.known.size >= MAX_KNOWN) this.known.clear();
    for (const name of this.below(folder)) this.known.add(name);
  }

  /** The folder and what is below it may be gone. */
  forget(folder: string): void {
    for (const name of this.known) {
      if (name === folder || name.startsWith(folder + path.sep)) this.known.delete(name);
    }
  }

  /** Resolves when the names in the folder are on the disk. */
  async settle(folder: string): Promise<void> {
    if (!this.sync) return;
    const handle = await open(folder);
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  }

  /** The folder and its parents up to the base, the deepest first. */
  private *below(folder: string): Generator<string> {
    for (let name = folder; name !== this.base && name !== path.dirname(name); name = path.dirname(name)) yield name;
  }
}
