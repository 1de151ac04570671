/** One value per node: what a writer does with it. Below a `DROP` everything is dropped, whatever its own value. */
export type Mask = Uint8Array;

export const DROP = 0;
export const KEEP = 1;
/** Not shown itself, but something below may be. */
export const PASS = 2;
