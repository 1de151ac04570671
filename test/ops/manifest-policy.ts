/** What no schema asks for and every manifest of ours must have: small rights, limits, probes, time to drain, true references. */
import { DRAIN_TIMEOUT_MS } from '@troupe/observability';
import { type Manifest } from './manifests.js';

interface Container {
  name: string;
  image: string;
  securityContext?: {
    runAsNonRoot?: boolean;
    runAsUser?: number;
    privileged?: boolean;
    allowPrivilegeEscalation?: boolean;
    readOnlyRootFilesystem?: boolean;
    capabilities?: { drop?: string[]; add?: string[] };
  };
  resources?: { requests?: Record<string, string | number>; limits?: Record<string, string | number> };
  env?: { name: string }[];
  envFrom?: { configMapRef?: { name: string }; secretRef?: { name: string } }[];
  volumeMounts?: { name: string; mountPath: string }[];
  lifecycle?: { preStop?: { exec: { command: string[] } } };
  startupProbe?: object;
  readinessProbe?: object;
  livenessProbe?: object;
}

interface Volume {
  name: string;
  emptyDir?: { medium?: string; sizeLimit?: string };
  persistentVolumeClaim?: { claimName: string };
  hostPath?: object;
}

interface PodSpec {
  containers: Container[];
  initContainers?: Container[];
  volumes?: Volume[];
  securityContext?: { runAsNonRoot?: boolean; runAsUser?: number; seccompProfile?: { type: string } };
  automountServiceAccountToken?: boolean;
  hostNetwork?: boolean;
  hostPID?: boolean;
  hostIPC?: boolean;
  terminationGracePeriodSeconds?: number;
}

interface Workload {
  name: string;
  kind: string;
  labels: Record<string, string>;
  pod: PodSpec;
}

/** Everything that is wrong, a sentence each. */
export function policyProblems(manifests: readonly Manifest[]): string[] {
  const workloads = manifests.flatMap(workloadOf);
  return [
    ...workloads.flatMap((workload) => podProblems(workload).map((problem) => `${workload.name}: ${problem}`)),
    ...referenceProblems(manifests, workloads),
  ];
}

function workloadOf(manifest: Manifest): Workload[] {
  const { kind, metadata } = manifest;
  const name = `${kind} ${metadata.name}`;
  if (kind === 'Pod') return [{ name, kind, labels: metadata.labels ?? {}, pod: manifest.spec as PodSpec }];
  if (!['Deployment', 'StatefulSet', 'DaemonSet', 'Job'].includes(kind)) return [];
  const { template } = manifest.spec as { template: { metadata: { labels: Record<string, string> }; spec: PodSpec } };
  return [{ name, kind, labels: template.metadata.labels, pod: template.spec }];
}

// eslint-disable-next-line complexity -- one line a rule
function podProblems({ kind, labels, pod }: Workload): string[] {
  const containers = [...pod.containers, ...(pod.initContainers ?? [])];
  const problems = containers.flatMap((container) => containerProblems(container, pod));
  const say = (isWrong: boolean, problem: string) => void (isWrong && problems.push(problem));
  // Chromium's sandbox needs user namespaces, which the default of runtimes denies.
  const profiles =
    labels['app.kubernetes.io/component'] === 'fetcher-browser' ? ['RuntimeDefault', 'Localhost'] : ['RuntimeDefault'];
  say(!profiles.includes(pod.securityContext?.seccompProfile?.type ?? ''), 'has no seccomp profile RuntimeDefault');
  say(pod.automountServiceAccountToken !== false, 'is given a token of the API server');
  say(Boolean(pod.hostNetwork ?? pod.hostPID ?? pod.hostIPC), 'shares a namespace with its node');
  for (const { name, hostPath, emptyDir } of pod.volumes ?? []) {
    say(hostPath !== undefined, `volume ${name} is a folder of the node`);
    say(emptyDir !== undefined && emptyDir.sizeLimit === undefined, `volume ${name} has no size limit`);
  }
  if (kind !== 'Deployment') return problems;
  for (const container of pod.containers) {
    for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe'] as const)
      say(container[probe] === undefined, `${container.name} has no ${probe}`);
    const preStopSeconds = Number(container.lifecycle?.preStop?.exec.command.at(-1) ?? 0);
    const neededSeconds = preStopSeconds + DRAIN_TIMEOUT_MS / 1_000;
    say(
      (pod.terminationGracePeriodSeconds ?? 30) < neededSeconds,
      `${container.name} may need ${neededSeconds} s to drain and is not given them`,
    );
  }
  return problems;
}

// eslint-disable-next-line complexity -- one line a rule
function containerProblems({ name, image, ...container }: Container, pod: PodSpec): string[] {
  const problems: string[] = [];
  const say = (isWrong: boolean, problem: string) => void (isWrong && problems.push(`${name} ${problem}`));
  const { securityContext: rights = {}, resources } = container;
  const user = rights.runAsUser ?? pod.securityContext?.runAsUser;
  say((rights.runAsNonRoot ?? pod.securityContext?.runAsNonRoot) !== true || user === 0, 'may run as root');
  say(rights.privileged === true || rights.allowPrivilegeEscalation !== false, 'may gain rights');
  say(rights.readOnlyRootFilesystem !== true, 'may write to its root file system');
  say(!rights.capabilities?.drop?.includes('ALL') || rights.capabilities.add !== undefined, 'keeps capabilities');
  say(!/(:[^:/]+|@sha256:[0-9a-f]{64})$/.test(image) || image.endsWith(':latest'), `has no fixed version: ${image}`);
  for (const resource of ['memory', 'ephemeral-storage'])
    say(resources?.limits?.[resource] === undefined, `has no limit of ${resource}`);
  for (const resource of ['cpu', 'memory'])
    say(resources?.requests?.[resource] === undefined, `requests no ${resource}`);
  const variables = (container.env ?? []).map((variable) => variable.name);
  for (const twice of variables.filter((variable, i) => variables.indexOf(variable) !== i))
    say(true, `is given ${twice} twice`);
  for (const mount of container.volumeMounts ?? [])
    say(!pod.volumes?.some((volume) => volume.name === mount.name), `mounts ${mount.name}, which is no volume`);
  return problems;
}

/** Names that point at nothing, selectors that no pod fits. What the values name as existing is somebody else's. */
// eslint-disable-next-line complexity -- one line a rule
function referenceProblems(manifests: readonly Manifest[], workloads: readonly Workload[]): string[] {
  const problems: string[] = [];
  const isThere = (kind: string, name: string) =>
    manifests.some((manifest) => manifest.kind === kind && manifest.metadata.name === name);
  for (const manifest of manifests) {
    const { kind, metadata } = manifest;
    const { spec } = manifest as { spec?: { scaleTargetRef?: { name: string }; selector?: Record<string, unknown> } };
    const target = spec?.scaleTargetRef?.name;
    if (target !== undefined && !isThere('Deployment', target))
      problems.push(`${kind} ${metadata.name}: scales ${target}, which is not there`);
    if (!['Service', 'PodDisruptionBudget', 'Deployment'].includes(kind)) continue;
    const selector = (spec?.selector?.matchLabels ?? spec?.selector ?? {}) as Record<string, string>;
    const fits = ({ labels }: Workload) => Object.entries(selector).every(([label, value]) => labels[label] === value);
    if (!workloads.some(fits)) problems.push(`${kind} ${metadata.name}: selects no pod`);
  }
  for (const { name, pod } of workloads)
    for (const { configMapRef } of pod.containers.flatMap(({ envFrom = [] }) => envFrom))
      if (configMapRef !== undefined && !isThere('ConfigMap', configMapRef.name))
        problems.push(`${name}: takes settings from ${configMapRef.name}, which is not there`);
  return problems;
}
