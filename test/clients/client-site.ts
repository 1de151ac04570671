/**
 * The site that the clients' specs read: thirty quick pages, slow ones, and a missing one; the cluster that may read it, and
 * the scripted language model that it asks.
 */
import { startDns, type DnsServer } from '@troupe/testing';
import { page, startKnownSite, type HostResources, type KnownSite, type Resource } from '../sites/known-graph/index.js';
import { startCluster, type TestCluster } from '../support/cluster.js';
import { modelEnv, startModelServer, type ModelServer } from '../support/model-server/index.js';

export const LEAVES = 29;
export const SLOW_LEAVES = 200;
const SLOW_MS = 150;

/** Every page below `/docs`, itself included. */
export const DOCS = ['/docs', ...paths('docs', LEAVES)];

export function paths(folder: string, n: number): string[] {
  return Array.from({ length: n }, (_, i) => `/${folder}/${i}`);
}

function folder(name: string, n: number, leaf: Resource): HostResources {
  return { [`/${name}`]: page(paths(name, n)), ...Object.fromEntries(paths(name, n).map((path) => [path, leaf])) };
}

export function startClientSite(): Promise<KnownSite> {
  return startKnownSite(() => [
    {
      '/': page(['/docs', '/slow']),
      ...folder('docs', LEAVES, page(['/docs'], { paragraphs: 2 })),
      ...folder('slow', SLOW_LEAVES, page([], { delayMs: SLOW_MS })),
    },
  ]);
}

/** Their addresses on the site, sorted. */
export function addresses(site: KnownSite, list: readonly string[]): string[] {
  return list.map((path) => site.url(path)).sort();
}

/** Addresses of the site's documentation pages in a text, sorted, each once. */
export function docsIn(text: string): string[] {
  const found = text.match(/http:\/\/[\w.:-]+\/docs(?:\/\d+)?(?![\w/])/g) ?? [];
  return [...new Set(found)].sort();
}

export interface ClientStage {
  site: KnownSite;
  cluster: TestCluster;
  model: ModelServer;
  stop(): Promise<void>;
}

/** The site, a cluster behind any proxy that says so, and a resolver that knows no name. */
export async function startClientStage(): Promise<ClientStage> {
  const site = await startClientSite();
  const dns: DnsServer = await startDns({});
  const model = await startModelServer();
  const cluster = await startCluster({
    env: {
      ALLOW_PRIVATE_TARGETS: '127.0.0.0/8',
      HOST_GAP_MS: '0',
      DNS_SERVERS: dns.address,
      TRUST_PROXY: 'true',
      ...modelEnv(model),
    },
  });
  const stop = async () => {
    await cluster.stop();
    await model.close();
    dns.close();
    await site.stop();
  };
  return { site, cluster, model, stop };
}
