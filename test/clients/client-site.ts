/** The site that the clients' specs read: thirty quick pages, slow ones, and a missing one. */
import { page, startKnownSite, type HostResources, type KnownSite, type Resource } from '../sites/known-graph/index.js';

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
