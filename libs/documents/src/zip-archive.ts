/**
 * Members of a zip archive, within bounds on their number, the size of each and of all that are read.
 *
 * The sizes are those that the archive declares; a member that lies about its size is cut there.
 */
import { unzipSync } from 'fflate';
import { unreadable } from '@troupe/contracts';

const MAX_MEMBERS = 20_000;
const MAX_MEMBER_BYTES = 128 * 1024 * 1024;
/** Size of everything that is read of one archive. */
const MAX_TOTAL_BYTES = 256 * 1024 * 1024;
/** No office file packs its XML this tightly. Below the free size it does not matter. */
const MAX_RATIO = 500;
const FREE_BYTES = 8 * 1024 * 1024;

export class ZipArchive {
  private spent = 0;

  private constructor(
    private readonly bytes: Uint8Array,
    /** Declared size by name. */
    private readonly sizes: ReadonlyMap<string, number>,
  ) {}

  /** @throws TroupeError SCRAPE_UNSUPPORTED_FILE_ERROR when it is no archive or a hostile one */
  static open(bytes: Uint8Array): ZipArchive {
    const sizes = new Map<string, number>();
    let seen = 0;
    const list = ({ name, originalSize, size }: { name: string; originalSize: number; size: number }): boolean => {
      if (++seen > MAX_MEMBERS) throw unreadable(`The archive has more than ${MAX_MEMBERS} members`);
      if (originalSize > FREE_BYTES && originalSize > size * MAX_RATIO) throw tooLarge();
      sizes.set(name, originalSize);
      return false;
    };
    unzipSync(bytes, { filter: list });
    return new ZipArchive(bytes, sizes);
  }

  get names(): string[] {
    return [...this.sizes.keys()];
  }

  has(name: string): boolean {
    return this.sizes.has(name);
  }

  /** As declared; 0 when there is no such member. */
  size(name: string): number {
    return this.sizes.get(name) ?? 0;
  }

  /** null when there is no such member. */
  read(name: string): Uint8Array | null {
    return this.readAll([name]).get(name) ?? null;
  }

  /** All at once, because every reading goes through the whole table of contents. Missing members are left out. */
  readAll(names: readonly string[]): Map<string, Uint8Array> {
    const wanted = new Set(names.filter((name) => this.has(name)));
    for (const name of wanted) this.spend(this.sizes.get(name)!);
    const read = unzipSync(this.bytes, { filter: ({ name }) => wanted.delete(name) });
    return new Map(Object.entries(read));
  }

  private spend(bytes: number): void {
    this.spent += bytes;
    if (bytes > MAX_MEMBER_BYTES || this.spent > MAX_TOTAL_BYTES) throw tooLarge();
  }
}

function tooLarge(): Error {
  return unreadable(`The archive unpacks to more than ${MAX_TOTAL_BYTES / 1024 / 1024} MB, or packs suspiciously well`);
}
