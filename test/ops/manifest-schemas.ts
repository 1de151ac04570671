/** Whether a manifest is what an API server takes: by the schemas of a version of Kubernetes, and of custom resources. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv, type ValidateFunction } from 'ajv';
import { parse } from 'yaml';
import { type Manifest } from './manifests.js';

type Schema = Record<string, unknown>;

interface CustomResource {
  spec: {
    group: string;
    names: { kind: string };
    versions: { name: string; schema: { openAPIV3Schema: Schema } }[];
  };
}

interface GroupVersionKind {
  group: string;
  version: string;
  kind: string;
}

/** Patterns of Go may begin with `(?i)`. */
const goPattern = Object.assign(
  (pattern: string, flags: string) =>
    new RegExp(pattern.replace('(?i)', ''), pattern.includes('(?i)') ? `${flags}i` : flags),
  { code: 'goPattern' },
);
const CREATE = {
  strict: false,
  allErrors: true,
  validateSchema: false,
  validateFormats: false,
  code: { regExp: goPattern },
} as const;

export class ManifestSchemas {
  private readonly validators = new Map<string, ValidateFunction | string>();

  private constructor(
    private readonly ajv: Ajv,
    private readonly refs: Map<string, string>,
  ) {}

  /** @param definitions file with the kinds of one version of Kubernetes. @param customFolder files of custom resources */
  static read(definitions: string, customFolder: string): ManifestSchemas {
    const ajv = new Ajv(CREATE);
    const refs = new Map<string, string>();
    const { $defs } = JSON.parse(readFileSync(definitions, 'utf8')) as { $defs: Record<string, Schema> };
    ajv.addSchema({ $id: 'kubernetes', $defs: closed($defs) });
    for (const [name, definition] of Object.entries($defs)) {
      const kinds = (definition['x-kubernetes-group-version-kind'] ?? []) as GroupVersionKind[];
      for (const kind of kinds) refs.set(nameOf(kind), `kubernetes#/$defs/${name}`);
    }
    for (const file of readdirSync(customFolder)) {
      const { spec } = parse(readFileSync(path.join(customFolder, file), 'utf8')) as CustomResource;
      for (const { name: version, schema } of spec.versions) {
        const name = nameOf({ group: spec.group, version, kind: spec.names.kind });
        ajv.addSchema({ ...(closed(schema.openAPIV3Schema) as Schema), $id: name });
        refs.set(name, name);
      }
    }
    return new ManifestSchemas(ajv, refs);
  }

  /** What is wrong with a manifest, in sentences; nothing when it is right. */
  problems(manifest: Manifest): string[] {
    const validate = this.validatorOf(manifest);
    const name = `${manifest.kind} ${manifest.metadata.name}`;
    if (typeof validate === 'string') return [`${name}: ${validate}`];
    if (validate(manifest)) return [];
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${name}${instancePath}: ${message} ${JSON.stringify(params)}`,
    );
  }

  private validatorOf({ apiVersion, kind }: Manifest): ValidateFunction | string {
    const [version = '', group = ''] = apiVersion.split('/').reverse();
    const name = nameOf({ group, version, kind });
    const known = this.validators.get(name);
    if (known !== undefined) return known;
    const ref = this.refs.get(name);
    const made = (ref === undefined ? undefined : this.ajv.getSchema(ref)) ?? `there is no ${name}`;
    this.validators.set(name, made);
    return made;
  }
}

function nameOf({ group, version, kind }: GroupVersionKind): string {
  return `${group}/${version}/${kind}`;
}

/** An object with named fields has no others: what an API server drops, or refuses when it validates fields strictly. */
function closed(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(closed);
  if (typeof node !== 'object' || node === null) return node;
  const inner: Schema = Object.fromEntries<unknown>(Object.entries(node).map(([key, value]) => [key, closed(value)]));
  const isOpen = inner['x-kubernetes-preserve-unknown-fields'] === true || inner.additionalProperties !== undefined;
  const isObject = typeof inner.properties === 'object' && (inner.type === 'object' || Array.isArray(inner.type));
  return isObject && !isOpen ? { ...inner, additionalProperties: false } : inner;
}
