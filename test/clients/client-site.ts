/** The site that the clients' specs read: thirty quick pages, slow ones, and a missing one; and the cluster that may read it. */
import { page, startKnownSite, type HostResources, type KnownSite, type Resource } from '../sites/known-graph/index.js';
import { type RunningCluster } from '../support/cluster.js';
import { startStage, type Stage } from '../support/shared-stage.js';

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

export interface ClientStage {
  site: KnownSite;
  cluster: RunningCluster;
  stop(): Promise<void>;
}

/** A cluster for clients: behind any proxy that says so. */
export function startClientCluster(): Promise<Stage> {
  return startStage({ ALLOW_PRIVATE_TARGETS: '127.0.0.0/8', HOST_GAP_MS: '0', TRUST_PROXY: 'true' });
}

export async function startClientStage(): Promise<ClientStage> {
  const site = await startClientSite();
  const { cluster, stop } = await startClientCluster();
  return {
    site,
    cluster,
    async stop() {
      await stop();
      await site.stop();
    },
  };
}
