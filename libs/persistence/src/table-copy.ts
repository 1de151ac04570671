/** A copy of a small table, read at start and again every few seconds, because every request asks for it. */

/** A change is known to every process within this time, as long as Postgres answers. */
const RELOAD_MS = 10_000;

export class TableCopy<T> {
  private timer: NodeJS.Timeout | null = null;

  private constructor(
    private copy: T,
    private readonly read: (known: T) => Promise<T>,
    private readonly onProblem: (error: unknown) => void,
    private readonly reloadMs: number,
  ) {}

  /** Rejects when the table cannot be read now; later the last copy stands until it can be read again. */
  static async of<T>(
    empty: T,
    read: (known: T) => Promise<T>,
    onProblem: (error: unknown) => void,
    reloadMs = RELOAD_MS,
  ): Promise<TableCopy<T>> {
    const table = new TableCopy(await read(empty), read, onProblem, reloadMs);
    table.schedule();
    return table;
  }

  get rows(): T {
    return this.copy;
  }

  stop(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
  }

  private schedule(): void {
    this.timer = setTimeout(() => void this.reload(), this.reloadMs);
    this.timer.unref();
  }

  private async reload(): Promise<void> {
    try {
      this.copy = await this.read(this.copy);
    } catch (error) {
      if (this.timer !== null) this.onProblem(error);
    }
    if (this.timer !== null) this.schedule();
  }
}
