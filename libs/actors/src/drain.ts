/**
 * Handles the items of one drain, whatever is in them. Refused items are split, first by actors and then
 * by messages, until the faulty one is alone. It becomes a dead letter, and everything else is committed on the way.
 */
import type { ActorKey } from '@troupe/contracts';
import type { Clock, RuntimeLog } from './clock.js';
import { ContentError, FencedError, TurnConflictError, TurnTimeoutError } from './ports.js';
import { HandlerError } from './turn.js';

/** A message that an actor was told and cannot take. */
export interface PoisonNote {
  type: string;
  error: string;
}

/** One thing to handle: a message or a timer that fired. */
export interface DrainItem {
  key: ActorKey;
  /** Type of its message; `timer <name>` for a timer. */
  type: string;
}

export interface DrainDeps<Item extends DrainItem> {
  /** One transaction. @throws HandlerError, and what the store throws */
  commit(items: readonly Item[], poison: PoisonNote | null): Promise<void>;
  /** Drops the cached state of their actors, which is not to be trusted any more. */
  forget(items: readonly Item[]): void;
  /** Ends the actor of the item in the store alone, as a last resort. */
  endActor(item: Item, error: string): Promise<void>;
  /** Nothing more can be done for the actor: its items are dropped for some time. */
  quarantine(item: Item): void;
  /** Rejects when the store does not answer. */
  probe(): Promise<void>;
  clock: Clock;
  log: RuntimeLog;
}

/** Tries of a message that its handler refuses, the last of them alone. A refusal of the store is final. */
const TRIES_OF_HANDLER = 3;
const TRIES_OF_STORE = 2;
const CONFLICT_TRIES = 6;
const TIMEOUT_TRIES = 3;

type Refusal = HandlerError | ContentError;

export class Drain<Item extends DrainItem> {
  constructor(private readonly deps: DrainDeps<Item>) {}

  /** Resolves when each item is handled or a dead letter. Rejects with `FencedError`, or when the store is away: no item is to blame. */
  async handle(items: readonly Item[]): Promise<void> {
    if (items.length === 0) return;
    const error = await this.tryAll(items);
    if (error === null) return;
    if (error instanceof TurnTimeoutError) return this.relieve(items, error);
    if (error instanceof HandlerError) {
      await this.handle(items.filter(({ key }) => key !== error.key));
      return this.split(
        items.filter(({ key }) => key === error.key),
        error,
      );
    }
    await this.split(items, error);
  }

  /** null: committed. Conflicts are tried again. */
  private async tryAll(items: readonly Item[]): Promise<Refusal | TurnTimeoutError | null> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.deps.commit(items, null);
        return null;
      } catch (error) {
        this.deps.forget(items);
        if (isRefusal(error) || error instanceof TurnTimeoutError) return error;
        if (!(error instanceof TurnConflictError) || attempt === CONFLICT_TRIES) throw error;
        await this.deps.clock.sleep(2.5 * 2 ** attempt);
      }
    }
  }

  /** The second half is not tried as a whole when the first one was without fault. */
  private async split(items: readonly Item[], error: Refusal): Promise<void> {
    if (items.length === 1) return this.writeDeadLetter(items[0]!, error);
    const [first, second] = halve(items);
    const refused = await this.tryAll(first);
    if (refused === null) return this.split(second, error);
    if (refused instanceof TurnTimeoutError) await this.relieve(first, refused);
    else await this.split(first, refused);
    await this.handle(second);
  }

  /**
   * A turn that took too long may only have held too much. When one actor alone takes too long again and again, while the
   * store answers others, something of it is wrong.
   */
  private async relieve(items: readonly Item[], error: TurnTimeoutError): Promise<void> {
    const isOneActor = items.every(({ key }) => key === items[0]!.key);
    if (!isOneActor) {
      for (const half of halve(items)) await this.handle(half);
      return;
    }
    for (let attempt = 1; attempt < TIMEOUT_TRIES; attempt++) {
      const again = await this.tryAll(items);
      if (again === null) return;
      if (!(again instanceof TurnTimeoutError)) return this.split(items, again);
    }
    await this.deps.probe();
    await this.split(items, new ContentError(error.message, 'TIMEOUT', { cause: error }));
  }

  /** An actor that is refused a vital type is told to fail visibly. */
  private async writeDeadLetter(item: Item, first: Refusal): Promise<void> {
    let error = first;
    const tries = first instanceof HandlerError ? TRIES_OF_HANDLER : TRIES_OF_STORE;
    for (let attempt = 1; attempt < tries; attempt++) {
      const again = await this.tryAll([item]);
      if (again === null) return;
      if (!(again instanceof TurnTimeoutError)) error = again;
    }
    const text = textOf(error);
    this.deps.log.error({ key: item.key, type: item.type, err: text }, 'message cannot be handled: dead letter');
    await this.commitDeadLetter(item, { type: item.type, error: text }, codeOf(error));
  }

  /** Writes a dead letter. If that is refused the actor ends with it; if that is refused, too, it is left alone for a while. */
  async commitDeadLetter(item: Item, poison: PoisonNote, code: string): Promise<void> {
    try {
      return await this.deps.commit([item], poison);
    } catch (error) {
      this.deps.forget([item]);
      if (!isRefusal(error) && !(error instanceof TurnTimeoutError)) throw error;
      this.deps.log.error(
        { key: item.key, type: item.type, err: textOf(error) },
        'dead letter refused: its actor ends',
      );
    }
    try {
      await this.deps.endActor(item, code);
    } catch (error) {
      if (error instanceof FencedError || !isRefusal(error)) throw error;
      this.deps.log.error({ key: item.key, type: item.type, err: textOf(error) }, 'actor cannot be ended: quarantined');
      this.deps.quarantine(item);
    }
  }
}

function isRefusal(error: unknown): error is Refusal {
  return error instanceof HandlerError || error instanceof ContentError;
}

/** Splits by actors while there are several, else by messages, in their order. */
function halve<Item extends DrainItem>(items: readonly Item[]): [Item[], Item[]] {
  const keys = [...new Set(items.map(({ key }) => key))];
  if (keys.length === 1) return [items.slice(0, items.length >> 1), items.slice(items.length >> 1)];
  const first = new Set(keys.slice(0, keys.length >> 1));
  return [items.filter(({ key }) => first.has(key)), items.filter(({ key }) => !first.has(key))];
}

function textOf(error: unknown): string {
  const cause = error instanceof HandlerError ? error.cause : error;
  return cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
}

/** Text of an error for people who may see nothing of the data. */
function codeOf(error: Refusal): string {
  return `INTERNAL_${error instanceof ContentError ? error.state : 'HANDLER'}`;
}
