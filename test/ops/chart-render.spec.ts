/**
 * The chart, rendered by Helm for every set of values in `helm/troupe/ci`: against the schemas of several versions of
 * Kubernetes, against our own rules, and against what was rendered before (`golden/`). After a change that is meant:
 *
 *     RENEW_GOLDEN=1 npm test -- ops/chart-render
 *
 * Skipped loudly where Helm or the schemas are not to be had.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { isPublicAddress } from '@troupe/egress';
import ipaddr from 'ipaddr.js';
import { workspace } from '../support/cluster.js';
import { findCustomResources, findHelm, findKubernetesSchemas, KUBERNETES_VERSIONS } from './chart-tools.js';
import { policyProblems } from './manifest-policy.js';
import { ManifestSchemas } from './manifest-schemas.js';
import { canonical, readManifests, type Manifest } from './manifests.js';

const CHART = path.join(workspace, 'helm/troupe');
const GOLDEN = path.join(workspace, 'test/ops/golden');
const SETS = readdirSync(path.join(CHART, 'ci')).map((file) => file.replace('-values.yaml', ''));
/** Installs of one chart in a namespace of its own. */
const VERSION = ['--kube-version', KUBERNETES_VERSIONS.at(-1)!];
const RELEASE = ['troupe', CHART, '--namespace', 'crawl', ...VERSION];

const [helm, kubernetes, custom] = await Promise.all([findHelm(), findKubernetesSchemas(), findCustomResources()]);
const suite = helm === null ? describe.skip : describe;
const withSchemas = helm === null || kubernetes === null || custom === null ? describe.skip : describe;

function callHelm(...words: string[]) {
  const { status, stdout, stderr } = spawnSync(helm ?? '', words, { encoding: 'utf8', maxBuffer: 2 ** 26 });
  return { status, stdout, stderr };
}

const valuesOf = (set: string) => ['--values', path.join(CHART, 'ci', `${set}-values.yaml`)];

const rendered = new Map<string, Manifest[]>();

function render(set: string, ...settings: string[]): Manifest[] {
  const key = [set, ...settings].join(' ');
  const before = rendered.get(key);
  if (before !== undefined) return before;
  const { status, stdout, stderr } = callHelm('template', ...RELEASE, ...valuesOf(set), ...settings);
  if (status !== 0) throw new Error(stderr);
  const manifests = readManifests(stdout);
  rendered.set(key, manifests);
  return manifests;
}

function refusal(set: string, ...settings: string[]): string {
  const { status, stderr } = callHelm('template', ...RELEASE, ...valuesOf(set), ...settings);
  return status === 0 ? 'taken' : stderr;
}

interface PodSelector {
  matchLabels: Record<string, string>;
  matchExpressions?: { key: string; operator: 'In' | 'NotIn'; values: string[] }[];
}

interface NetworkPolicy {
  metadata: { name: string };
  spec: { podSelector: PodSelector; policyTypes: string[] };
}

const COMPONENT = 'app.kubernetes.io/component';

/** Whether a pod of this release with this component is meant. */
function selects({ matchLabels, matchExpressions = [] }: PodSelector, component: string): boolean {
  const asked = matchLabels[COMPONENT];
  if (asked !== undefined && asked !== component) return false;
  return matchExpressions.every(({ operator, values }) => values.includes(component) === (operator === 'In'));
}

const named = (manifests: Manifest[], kind: string, name: string) =>
  manifests.find((manifest) => manifest.kind === kind && manifest.metadata.name === name)!;

suite('the rendered chart', () => {
  it('is tried with at least six sets of values', () => {
    expect(SETS.length).toBeGreaterThanOrEqual(6);
  });

  it.each(SETS)('%s passes the linter', (set) => {
    expect(callHelm('lint', CHART, '--strict', ...VERSION, ...valuesOf(set))).toMatchObject({ status: 0 });
  });

  it.each(SETS)('%s is what was rendered before', (set) => {
    const file = path.join(GOLDEN, `${set}.yaml`);
    const text = canonical(render(set));
    if (process.env.RENEW_GOLDEN) writeFileSync(file, text);
    expect(text).toBe(readFileSync(file, 'utf8'));
  });

  it.each(SETS)('%s keeps every rule of ours', (set) => {
    expect(policyProblems(render(set))).toEqual([]);
  });

  it('wakes browsers by the work that waits for them, and lets them go', () => {
    const scaled = named(render('keda'), 'ScaledObject', 'troupe-fetcher-browser') as unknown as {
      spec: { minReplicaCount: number; triggers: { metadata: { stream: string; consumer: string } }[] };
    };
    expect(scaled.spec.minReplicaCount).toBe(0);
    expect(scaled.spec.triggers.map(({ metadata }) => `${metadata.stream} ${metadata.consumer}`)).toEqual([
      'WORK w-browser-hi',
      'WORK w-browser-lo',
    ]);
  });

  it('tells fetchers which pages are theirs, and whether browsers may have to be started first', () => {
    const told = (set: string, role: string) => {
      const { spec } = named(render(set), 'Deployment', `troupe-${role}`) as unknown as {
        spec: { template: { spec: { containers: [{ env: { name: string; value?: string }[] }] } } };
      };
      const of = Object.fromEntries(spec.template.spec.containers[0].env.map(({ name, value }) => [name, value]));
      return [of.FETCHER_CLASSES, of.BROWSER_ON_DEMAND];
    };
    expect(told('default', 'fetcher-http')).toEqual(['http', undefined]);
    expect(told('default', 'fetcher-browser')).toEqual(['browser', undefined]);
    expect(told('keda', 'fetcher-http')).toEqual(['http', 'true']);
    expect(told('minimal', 'fetcher-http')).toEqual(['http', undefined]);
  });

  it('writes large numbers as they are', () => {
    const manifests = render('default', '--set-json', 'config.HOST_GAP_MS=1000000');
    expect(named(manifests, 'ConfigMap', 'troupe-config').data).toMatchObject({ HOST_GAP_MS: '1000000' });
  });

  it.each([
    ['a database that is missing', 'default', ['secrets.keys.DATABASE_URL='], /DATABASE_URL must be set: give secrets/],
    ['a setting that does not exist', 'default', ['config.HOST_GAP=1'], /HOST_GAP/],
    ['a value that does not exist', 'default', ['roles.gateway.replica=3'], /replica/],
    ['the tag latest', 'default', ['image.tag=latest'], /image\/tag/],
    ['less time than a service needs to drain', 'default', ['defaults.terminationGracePeriodSeconds=20'], /40/],
    [
      'KEDA without the address of NATS',
      'keda',
      ['keda.natsMonitoringEndpoint='],
      /natsMonitoringEndpoint must be set/,
    ],
    ['no gateway at all, which nothing would wake', 'keda', ['roles.converter.autoscaling.minReplicas=0'], /wake/],
    ['a digest for one image of two', 'external', ['image.browserDigest='], /browserDigest must be set/],
    ['an Ingress without a host', 'ha', ['ingress.hosts=null'], /ingress.hosts must name/],
    ['a route without its Gateway', 'external', ['gatewayApi.parentRefs=null'], /parentRefs must name/],
  ])('refuses %s', (_, set, settings, reason) => {
    expect(refusal(set, ...settings.flatMap((setting) => ['--set', setting]))).toMatch(reason);
  });

  it('lets every pod reach what it needs and nothing else', () => {
    const policies = render('keda').filter(({ kind }) => kind === 'NetworkPolicy') as unknown as NetworkPolicy[];
    const waysOut = (component: string) =>
      policies
        .filter(({ spec }) => spec.policyTypes.includes('Egress') && selects(spec.podSelector, component))
        .map(({ metadata }) => metadata.name.replace(/^troupe-?/, '') || 'names')
        .sort();
    const everything = ['internet', 'names', 'nats', 'state'];
    expect(waysOut('gateway')).toEqual(everything);
    expect(waysOut('fetcher-http')).toEqual(everything);
    expect(waysOut('fetcher-browser')).toEqual(everything);
    expect(waysOut('extractor')).toEqual(everything);
    expect(waysOut('dispatcher')).toEqual(everything);
    expect(waysOut('scheduler')).toEqual(['names', 'nats', 'state']);
    expect(waysOut('converter')).toEqual(['names', 'nats']);
    expect(waysOut('migrate')).toEqual(['migrate', 'names', 'state']);
    expect(waysOut('test')).toEqual(['names', 'test']);
    const denied = policies.filter(
      ({ spec }) => spec.policyTypes.includes('Ingress') && selects(spec.podSelector, 'any'),
    );
    expect(denied.map(({ metadata }) => metadata.name)).toEqual(['troupe']);
  });

  it('lets nobody out to an address that the services themselves refuse', () => {
    const policy = named(render('default'), 'NetworkPolicy', 'troupe-internet') as unknown as {
      spec: { egress: { to: { ipBlock: { cidr: string; except: string[] } }[] }[] };
    };
    const blocks = policy.spec.egress.flatMap(({ to }) => to.map(({ ipBlock }) => ipBlock));
    const isIn = (address: string, cidr: string) => {
      const parsed = ipaddr.parse(address);
      const range = ipaddr.parseCIDR(cidr);
      return parsed.kind() === range[0].kind() && parsed.match(range);
    };
    const mayLeave = (address: string) =>
      blocks.some(({ cidr, except }) => isIn(address, cidr) && !except.some((denied) => isIn(address, denied)));
    const edges = blocks.flatMap(({ except }) => except).map((cidr) => cidr.replace(/\/\d+$/, ''));
    const others = [
      '100.127.255.255',
      '172.31.255.255',
      'fd12::1',
      'fe80::1',
      'fc00::1',
      '64:ff9b::a00:1',
      '::ffff:10.0.0.1',
    ];
    const refused = [...edges, ...others, '::1', '169.254.169.254', '10.1.2.3'].filter(
      (address) => !isPublicAddress(address),
    );
    expect(refused.length).toBeGreaterThan(25);
    expect(refused.filter(mayLeave)).toEqual([]);
    expect(['1.1.1.1', '93.184.216.34', '2606:4700::1111'].filter(mayLeave)).toHaveLength(3);
  });
});

withSchemas.each(KUBERNETES_VERSIONS)('an API server of Kubernetes %s', (version) => {
  let schemas: ManifestSchemas;

  beforeAll(() => {
    schemas = ManifestSchemas.read(path.join(kubernetes!, `${version}.json`), custom!);
  });

  it.each(SETS)('takes %s', (set) => {
    expect(render(set).flatMap((manifest) => schemas.problems(manifest))).toEqual([]);
  });

  it('would not take what is misspelt, of the wrong type or unknown', () => {
    const manifest = named(render('keda'), 'ScaledObject', 'troupe-fetcher-browser');
    const { spec } = manifest as unknown as { spec: object };
    expect(schemas.problems({ ...manifest, spec: { ...spec, minReplicas: 0 } })[0]).toContain('minReplicas');
    const deployment = named(render('keda'), 'Deployment', 'troupe-gateway');
    expect(schemas.problems({ ...deployment, spec: { ...(deployment.spec as object), replica: 2 } })[0]).toContain(
      'replica',
    );
    expect(schemas.problems({ ...deployment, kind: 'Deploy' })).toEqual([
      'Deploy troupe-gateway: there is no apps/v1/Deploy',
    ]);
  });
});
