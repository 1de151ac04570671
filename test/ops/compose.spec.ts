/** The compose file, without an engine to run it: its schema, what it mounts, what it says to the services, what it may do. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { DRAIN_TIMEOUT_MS } from '@troupe/observability';
import { Ajv } from 'ajv';
import { parse } from 'yaml';
import { workspace } from '../support/cluster.js';
import { findComposeSchema } from './chart-tools.js';

interface Service {
  image: string;
  command?: string[];
  profiles?: string[];
  environment?: Record<string, string | null>;
  env_file?: { path: string; required: boolean }[];
  volumes?: string[];
  configs?: { source: string; target: string }[];
  ports?: string[];
  build?: { context: string; dockerfile: string; target: string };
  depends_on?: Record<string, { condition: string; required?: boolean }>;
  read_only?: boolean;
  cap_drop?: string[];
  security_opt?: string[];
  stop_grace_period?: string;
}

interface Compose {
  services: Record<string, Service>;
  configs: Record<string, { content: string }>;
  volumes: Record<string, unknown>;
}

const FOLDER = path.join(workspace, 'deploy/compose');
const read = (file: string) => readFileSync(path.join(workspace, file), 'utf8');
const compose = parse(read('deploy/compose/compose.yaml'), { merge: true }) as Compose;
const services = Object.entries(compose.services);
const ours = services.filter(([, { image }]) => image.startsWith('troupe:'));
const schema = await findComposeSchema();
/** What the images of others are told. */
const OTHERS = /^(POSTGRES_|GF_)/;

describe('the compose file', () => {
  (schema === null ? it.skip : it)('is what the compose specification says', () => {
    const validate = new Ajv({ strict: false, validateFormats: false, allErrors: true, validateSchema: false }).compile(
      JSON.parse(readFileSync(schema!, 'utf8')) as object,
    );
    expect(validate(compose) ? [] : validate.errors).toEqual([]);
    const { gateway } = compose.services;
    expect(validate({ ...compose, services: { gateway: { ...gateway, memory: '1g' } } })).toBe(false);
  });

  it('mounts what is there', () => {
    const mounts = services.flatMap(([name, { volumes = [] }]) => volumes.map((volume) => ({ name, volume })));
    expect(mounts.length).toBeGreaterThan(8);
    const missing = mounts.filter(({ volume }) => {
      const [source = ''] = volume.split(':');
      return source.startsWith('.') ? !existsSync(path.join(FOLDER, source)) : !(source in compose.volumes);
    });
    expect(missing).toEqual([]);
    for (const [, { configs = [] }] of services)
      for (const { source } of configs) expect(Object.keys(compose.configs)).toContain(source);
  });

  it('builds from files and targets that are there', () => {
    for (const [, { build }] of ours) {
      const file = path.join(FOLDER, build!.context, build!.dockerfile);
      expect(readFileSync(file, 'utf8')).toMatch(new RegExp(`^FROM .* AS ${build!.target}$`, 'm'));
    }
  });

  it('tells the services nothing that they do not know, and runs only roles of the image', () => {
    const known = new Set([...read('.env.example').matchAll(/^([A-Z][A-Z0-9_]*)=/gm)].map(([, key]) => key));
    const told = services.flatMap(([, { environment = {} }]) => Object.keys(environment));
    expect(told.filter((key) => !known.has(key) && !OTHERS.test(key))).toEqual([]);
    const usage = spawnSync(process.execPath, ['deploy/image/troupe.mjs', '--help'], {
      cwd: workspace,
      encoding: 'utf8',
    });
    const roles = usage.stdout.match(/[a-z]+/g) ?? [];
    for (const [name, { command = [] }] of ours) {
      expect(command).toEqual([name]);
      expect(roles).toContain(name);
    }
  });

  it('gives the services no rights that they do not need, time to drain, and every image a version', () => {
    for (const [name, service] of ours) {
      expect({ name, ...service }).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
      });
      expect(Number.parseInt(service.stop_grace_period ?? '10') * 1_000).toBeGreaterThan(DRAIN_TIMEOUT_MS);
    }
    for (const [, { image }] of services) expect(image).toMatch(/:v?\d/);
  });

  it('opens ports for the API, and for this machine only what has a known password', () => {
    const open = services.flatMap(([name, { ports = [] }]) => ports.map((port) => `${name} ${port}`));
    expect(open).toEqual(['gateway ${TROUPE_PORT:-3002}:3002', 'grafana 127.0.0.1:${GRAFANA_PORT:-3000}:3000']);
  });

  it('runs without what is optional', () => {
    const optional = services.filter(([, { profiles = [] }]) => profiles.length > 0).map(([name]) => name);
    expect(optional).toEqual(['postgres', 'nats', 'converter', 'searxng', 'prometheus', 'grafana']);
    for (const [name, { depends_on = {} }] of services)
      for (const [other, { required = true }] of Object.entries(depends_on))
        expect({ name, other, required: required && optional.includes(other) }).toEqual({
          name,
          other,
          required: false,
        });
    // Asked for in a default, a variable is missed even where the default is not used.
    expect(read('deploy/compose/compose.yaml')).not.toMatch(/\$\{\w+:?\?/);
  });

  it('lets Prometheus find every service, and Grafana its dashboards', () => {
    const prometheus = parse(read('deploy/prometheus/prometheus.yml')) as {
      rule_files: string[];
      scrape_configs: { job_name: string; dns_sd_configs: { names: string[]; port: number }[] }[];
    };
    const [scrape] = prometheus.scrape_configs;
    expect(scrape).toMatchObject({ job_name: 'troupe', dns_sd_configs: [{ port: 9464 }] });
    const roles = ours.map(([name]) => name).filter((name) => name !== 'migrate');
    expect([...scrape!.dns_sd_configs[0]!.names].sort()).toEqual(roles.sort());
    for (const file of prometheus.rule_files)
      expect(existsSync(path.join(workspace, 'deploy/prometheus', path.relative('/etc/prometheus', file)))).toBe(true);

    const { providers } = parse(read('deploy/grafana/provisioning/dashboards/troupe.yaml')) as {
      providers: { options: { path: string } }[];
    };
    const mount = compose.services.grafana?.volumes?.find((volume) =>
      volume.includes(`:${providers[0]!.options.path}:`),
    );
    const folder = path.join(FOLDER, mount!.split(':')[0]!);
    expect(statSync(folder).isDirectory() && readdirSync(folder).length).toBe(8);
    const { datasources } = parse(read('deploy/grafana/provisioning/datasources/prometheus.yaml')) as {
      datasources: { type: string; url: string }[];
    };
    expect(datasources).toMatchObject([{ type: 'prometheus', url: 'http://prometheus:9090' }]);
  });

  it('configures NATS as NATS understands it', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'troupe-compose-'));
    try {
      const file = path.join(folder, 'nats.conf');
      writeFileSync(file, compose.configs.nats!.content);
      const command = compose.services.nats!.command!.map((word) =>
        word === '/etc/nats.conf' ? file : word === '/data' ? folder : word,
      );
      const tried = spawnSync(process.env.TEST_NATS_SERVER ?? 'nats-server', ['-t', ...command], { encoding: 'utf8' });
      expect(tried).toMatchObject({ status: 0, stderr: expect.stringContaining('is valid') });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
