/** What may go wrong in a world: kinds of faults, each with dice of its own, so that one can be dropped and the others stay. */
import { Random } from '@troupe/actors';

export const FAULT_KINDS = [
  'lost mail',
  'repeated mail',
  'reordered mail',
  'late mail',
  'wiped bus',
  'crash',
  'second owner',
  'dead fetcher',
  'time leap',
  'lost pause note',
  'clock offset',
  'clock drift',
  'wall set',
  'conflict',
  'store away',
  'lost answer',
  'slow turn',
  'poison',
  'upgrade',
  'strange mail',
  'rate limit',
  'outage',
  'unreadable robots',
  'deaf receiver',
  'dead dispatcher',
  'dead replica',
  'frozen replica',
  'lost lease',
  'unanswered lease',
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

/** What may cost a request that was not needed, or a page: gentle worlds have none of it. */
const HARSH: readonly FaultKind[] = [
  'lost mail',
  'repeated mail',
  'reordered mail',
  'late mail',
  'wiped bus',
  'dead fetcher',
  'time leap',
  'lost pause note',
  'store away',
  'slow turn',
  'upgrade',
  'rate limit',
  'outage',
  'unreadable robots',
  'frozen replica',
];

export class Faults {
  private readonly dice = new Map<FaultKind, Random>();
  private readonly dropped: Set<FaultKind>;
  private isOver = false;
  /** Kinds that have shown themselves. */
  readonly seen = new Set<FaultKind>();

  constructor(
    private readonly seed: number,
    dropped: Iterable<FaultKind>,
  ) {
    this.dropped = new Set(dropped);
  }

  /** Nothing but schedulers and their clocks fails, nothing is lost or repeated: then no page is requested without need. */
  beGentle(): void {
    for (const kind of HARSH) this.dropped.add(kind);
  }

  /** Whether there is such a fault at all, in this part of the worlds. */
  has(kind: FaultKind, share: number): boolean {
    const isThere = this.of(kind).chance(share) && !this.dropped.has(kind);
    if (isThere) this.seen.add(kind);
    return isThere;
  }

  /** How much of it there is; 0 where it is dropped. */
  level(kind: FaultKind, levels: readonly number[]): number {
    const level = this.of(kind).pick(levels);
    if (this.dropped.has(kind) || level === 0) return 0;
    this.seen.add(kind);
    return level;
  }

  happens(kind: FaultKind, chance: number): boolean {
    if (this.isOver || this.dropped.has(kind) || !this.of(kind).chance(chance)) return false;
    this.seen.add(kind);
    return true;
  }

  of(kind: FaultKind): Random {
    let dice = this.dice.get(kind);
    if (dice === undefined) this.dice.set(kind, (dice = new Random(this.seed + 7_919 * FAULT_KINDS.indexOf(kind))));
    return dice;
  }

  /** From here on nothing happens any more. */
  end(): void {
    this.isOver = true;
  }
}
