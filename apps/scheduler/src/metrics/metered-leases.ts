import type { LeaseBoard } from '@troupe/actors';
import type { Metrics } from '@troupe/observability';

/** `leases` with every change of owner counted. */
export function meteredLeases<B extends LeaseBoard>(leases: B, metrics: Metrics): B {
  const moves = metrics.counterOf(
    {
      name: 'troupe_lease_moves_total',
      help: 'Partitions that this scheduler took, gave back and lost to another one',
    },
    'move',
    ['taken', 'released', 'lost'],
  );
  const { acquire, renew, release } = leases;
  leases.acquire = async (part) => {
    const isTaken = await acquire.call(leases, part);
    if (isTaken) moves.inc('taken');
    return isTaken;
  };
  leases.renew = async (part) => {
    const isKept = await renew.call(leases, part);
    if (!isKept) moves.inc('lost');
    return isKept;
  };
  leases.release = async (part) => {
    await release.call(leases, part);
    moves.inc('released');
  };
  return leases;
}
