/** Requirements on a NATS server that is to carry Troupe. */
import type { NatsServerSettings } from './nats-server.js';

export const OLDEST_SERVER = [2, 11] as const;
/** Size that the server must accept in one message; `max_payload: 8MB` in its configuration. */
export const MIN_PAYLOAD_BYTES = 8_000_000;
/** Copies on a cluster of servers: one server may be lost. */
const CLUSTER_REPLICAS = 3;

export function isSupportedVersion(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map((part) => Number.parseInt(part, 10));
  return major > OLDEST_SERVER[0] || (major === OLDEST_SERVER[0] && minor >= OLDEST_SERVER[1]);
}

/** Copies of streams and buckets. @param cluster name of the cluster that the server belongs to */
export function replicasFor({ natsReplicas }: NatsServerSettings, cluster: string | undefined): number {
  return natsReplicas || (cluster === undefined ? 1 : CLUSTER_REPLICAS);
}
