/** A place on a host as it is stored and as its holder keeps it. */
import type { SlotValue } from '@troupe/politeness';

/** The stored value: the slot as the rules know it, and the run that wrote it. */
export type StoredSlot = SlotValue & { run: string };

/** A place this process holds. Opaque to its holder. */
export interface SlotHold {
  readonly key: string;
  readonly host: string;
  readonly isExpress: boolean;
  readonly value: StoredSlot;
  revision: number;
}
