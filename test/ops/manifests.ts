/** Rendered manifests: read, and written in one way whatever made them. */
import { createHash } from 'node:crypto';
import { parseAllDocuments, stringify } from 'yaml';

export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels?: Record<string, string>; annotations?: Record<string, string> };
  [field: string]: unknown;
}

/** Dashboards and the like are compared by their sum, they have files of their own. */
const LONGEST_TEXT = 1_000;

export function readManifests(text: string): Manifest[] {
  return parseAllDocuments(text)
    .map((document) => {
      if (document.errors.length > 0) throw document.errors[0]!;
      return document.toJS() as Manifest | null;
    })
    .filter((manifest) => manifest !== null);
}

/** Sorted by kind and name, fields by name, without comments: two programs that mean the same write the same. */
export function canonical(manifests: readonly Manifest[]): string {
  const key = ({ kind, metadata }: Manifest) =>
    `${kind} ${metadata.name} ${metadata.annotations?.['helm.sh/hook'] ?? ''}`;
  const sorted = [...manifests].sort((a, b) => (key(a) < key(b) ? -1 : 1));
  const options = { sortMapEntries: true, lineWidth: 0, aliasDuplicateObjects: false };
  return sorted.map((manifest) => stringify(shortened(manifest), options)).join('---\n');
}

function shortened(node: unknown): unknown {
  if (typeof node === 'string')
    return node.length > LONGEST_TEXT ? `sha256:${createHash('sha256').update(node).digest('hex')}` : node;
  if (Array.isArray(node)) return node.map(shortened);
  if (typeof node !== 'object' || node === null) return node;
  return Object.fromEntries(Object.entries(node).map(([field, value]) => [field, shortened(value)]));
}
