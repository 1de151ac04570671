/** The rules that our images keep, and that the files of the Dockerfile are there. That they work is shown by deploy/image/smoke.sh. */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { findHadolint } from '../clients/packages.js';
import { workspace } from '../support/cluster.js';

interface Step {
  word: string;
  flags: Record<string, string>;
  text: string;
}

interface Stage {
  name: string;
  from: string;
  flags: Record<string, string>;
  steps: Step[];
}

const file = path.join(workspace, 'deploy/image/Dockerfile');
const text = readFileSync(file, 'utf8');
const TARGETS = ['slim', 'browser'];
/** A name with a whole version, and perhaps a digest: never something that changes under us. */
const PINNED = /^[\w./-]+:\d+\.\d+\.\d+[\w.-]*(@sha256:[0-9a-f]{64})?$/;
const ARCHITECTURES = /\b(x86_64|amd64|aarch64|arm64|linux-x64|linux-arm64)\b/;

/** As much of the language as the rules need: lines joined at their backslashes, arguments before the first FROM filled in. */
// eslint-disable-next-line complexity -- one case a word
function stagesOf(source: string): Stage[] {
  const stages: Stage[] = [];
  const args: Record<string, string> = {};
  for (const line of source
    .replaceAll(/^\s*(#.*)?\n/gm, '')
    .replaceAll(/\\\n/g, ' ')
    .trim()
    .split('\n')) {
    const [, word = '', options = '', text = ''] = /^(\w+)\s+((?:--\S+\s+)*)(.*)$/.exec(line) ?? [];
    const flags = Object.fromEntries(
      [...options.matchAll(/--([\w-]+)=(\S+)/g)].map(([, name, value]) => [name, value]),
    );
    const [, from = '', name = ''] = /^(\S+)(?: AS (\S+))?$/.exec(text) ?? [];
    if (word === 'FROM')
      stages.push({ name, from: args[/^\$\{(\w+)\}$/.exec(from)?.[1] ?? ''] ?? from, flags, steps: [] });
    else if (stages.length > 0) stages.at(-1)!.steps.push({ word, flags, text });
    else if (word === 'ARG') args[text.split('=')[0]!] = text.split('=')[1] ?? '';
    else throw new Error(`${word} before the first FROM`);
  }
  return stages;
}

/** Whether a build may see a place: the last line of .dockerignore that names it or a folder around it decides. */
function isInContext(place: string): boolean {
  const rules = readFileSync(path.join(workspace, '.dockerignore'), 'utf8').trim().split('\n');
  const fits = (rule: string): boolean => {
    const pattern = rule.replace('!', '').replaceAll('.', '\\.').replaceAll('**', '.+');
    return new RegExp(`^${pattern}(/|$)`).test(place);
  };
  return rules.findLast(fits)?.startsWith('!') ?? true;
}

/** What is wrong with a Dockerfile, in our eyes; empty when nothing is. */
function problemsOf(source: string): string[] {
  const stages = stagesOf(source);
  return [...stages.flatMap((stage) => problemsOfStage(stages, stage)), ...problemsOfImages(stages)];
}

function problemsOfStage(stages: Stage[], { from, steps, flags }: Stage): string[] {
  const isOurs = stages.some(({ name }) => name === from);
  const found = isOurs || PINNED.test(from) ? [] : [`${from} is not pinned to a version`];
  if (flags.platform !== undefined && flags.platform !== '$BUILDPLATFORM') found.push('a platform is fixed');
  for (const { word, text: what } of steps) {
    if (word === 'ADD') found.push('ADD is used: COPY does not fetch or unpack by surprise');
    if (ARCHITECTURES.test(what)) found.push(`an architecture is named: ${what}`);
    if (word === 'RUN' && /apt-get install/.test(what)) found.push(...problemsOfInstall(what));
  }
  return found;
}

function problemsOfInstall(what: string): string[] {
  return [
    ...(what.includes('--no-install-recommends') ? [] : ['packages come with what they recommend']),
    ...(what.includes('rm -rf /var/lib/apt/lists/*') ? [] : ['lists of packages are left']),
  ];
}

/** What is wrong with those that are run in the end. */
function problemsOfImages(stages: Stage[]): string[] {
  return TARGETS.filter((target) => stages.some(({ name }) => name === target)).flatMap((target) => {
    const steps = ancestry(stages, target).flatMap((stage) => stage.steps);
    const last = (word: string) => steps.findLast((step) => step.word === word);
    const [uid = ''] = last('USER')?.text.split(':') ?? [];
    return [
      ...(/^[1-9]\d*$/.test(uid) ? [] : [`${target} runs as "${uid}": only a number can be checked not to be root`]),
      ...(last('ENTRYPOINT')?.text.startsWith('["tini",') ? [] : [`${target} has no init as its first process`]),
      ...(last('HEALTHCHECK')?.text.startsWith('CMD [') ? [] : [`${target} has no health check`]),
    ];
  });
}

/** A stage and those it stands on. */
function ancestry(stages: Stage[], target: string): Stage[] {
  const stage = stages.find(({ name }) => name === target);
  return stage === undefined ? [] : [...ancestry(stages, stage.from), stage];
}

describe('the Dockerfile', () => {
  it('keeps our rules', () => {
    expect(problemsOf(text)).toEqual([]);
  });

  it('names stages and files that are there', () => {
    const stages = stagesOf(text);
    const names = stages.map(({ name }) => name);
    const copies = stages.flatMap(({ steps }) => steps.filter(({ word }) => word === 'COPY'));
    expect(copies.length).toBeGreaterThan(5);
    for (const { text: what, flags } of copies) {
      if (flags.from !== undefined) {
        expect(names).toContain(flags.from);
        continue;
      }
      for (const place of what.split(/\s+/).slice(0, -1))
        expect([place, existsSync(path.join(workspace, place)), isInContext(place)]).toEqual([place, true, true]);
    }
    expect(names).toEqual(expect.arrayContaining(TARGETS));
  });

  it('leaves out of the images what only specs use', () => {
    const build = stagesOf(text).find(({ name }) => name === 'build')!;
    const last = build.steps.findLast(({ word }) => word === 'RUN')!.text;
    const removed = /rm -rf (.+)$/.exec(last)![1]!.split(' ');
    expect(removed).toEqual(['dist/test', 'dist/libs/testing']);
    for (const kind of ['spec', 'fixture']) expect(last).toContain(`-name '*.${kind}.js*'`);
    const kept = ['apps', 'libs']
      .flatMap((folder) =>
        readdirSync(path.join(workspace, folder), { recursive: true, encoding: 'utf8' }).map((name) =>
          path.join(folder, name),
        ),
      )
      .filter((name) => /(?<!\.spec|\.fixture)\.ts$/.test(name) && !name.startsWith('libs/testing/'));
    expect(kept).toContain('apps/gateway/src/main.ts');
    const needing = kept.filter((name) =>
      /@troupe\/testing|\.(spec|fixture)\.js/.test(readFileSync(path.join(workspace, name), 'utf8')),
    );
    expect(needing).toEqual([]);
  });

  it('sees nothing of data, packages and history of the workspace', () => {
    for (const place of ['node_modules/pg/package.json', '.troupe/secrets.json', '.git/config', '.env', 'dist/x.js'])
      expect([place, isInContext(place)]).toEqual([place, false]);
    for (const place of ['package.json', 'apps/gateway/src/main.ts', 'deploy/image/troupe.mjs'])
      expect([place, isInContext(place)]).toEqual([place, true]);
  });

  it('is built on a version of Node that the project accepts', () => {
    const [base = ''] = stagesOf(text).map(({ from }) => from);
    const [, major, minor] = /^node:(\d+)\.(\d+)\./.exec(base) ?? [];
    expect(Number(major) * 100 + Number(minor)).toBeGreaterThanOrEqual(2213);
  });
});

describe('the rules', () => {
  const good = `FROM node:22.1.0-bookworm-slim AS slim
USER 10001:10001
HEALTHCHECK --interval=10s CMD ["true"]
ENTRYPOINT ["tini", "--", "node"]
`;
  const worse: [string, string, string][] = [
    ['a base that changes', 'node:22.1.0-bookworm-slim', 'node:22'],
    ['the latest base', 'node:22.1.0-bookworm-slim', 'node:latest'],
    ['root', 'USER 10001:10001', 'USER 0:0'],
    ['a user by name', 'USER 10001:10001', 'USER troupe'],
    ['no user', 'USER 10001:10001\n', ''],
    ['no init', '"tini", "--", ', ''],
    ['an entry point through a shell', 'ENTRYPOINT ["tini", "--", "node"]', 'ENTRYPOINT tini -- node'],
    ['no health check', 'HEALTHCHECK --interval=10s CMD ["true"]\n', ''],
    ['ADD', 'USER', 'ADD https://example.com/x /x\nUSER'],
    ['a fixed platform', 'FROM node', 'FROM --platform=linux/amd64 node'],
    ['an architecture', 'USER', 'RUN cp /lib/x86_64-linux-gnu/a /b\nUSER'],
    ['lists that are left', 'USER', 'RUN apt-get update \\\n && apt-get install -y --no-install-recommends tini\nUSER'],
    ['recommended packages', 'USER', 'RUN apt-get install -y tini && rm -rf /var/lib/apt/lists/*\nUSER'],
  ];

  it('let a good file pass', () => {
    expect(problemsOf(good)).toEqual([]);
  });

  it.each(worse)('notice %s', (_, from, to) => {
    expect(good).toContain(from);
    expect(problemsOf(good.replace(from, to))).toHaveLength(1);
  });
});

describe('hadolint', () => {
  let hadolint: string | null;

  beforeAll(async () => {
    hadolint = await findHadolint();
  }, 240_000);

  it('finds nothing', () => {
    if (hadolint === null) return;
    const { stdout, status } = spawnSync(hadolint, ['--no-color', file], { encoding: 'utf8' });
    expect(stdout).toBe('');
    expect(status).toBe(0);
  });

  it('would find something', () => {
    if (hadolint === null) return;
    const { status, stdout } = spawnSync(hadolint, ['--no-color', '-'], {
      input: 'FROM node:latest\nRUN cd /x\n',
      encoding: 'utf8',
    });
    expect(stdout).toContain('DL3007');
    expect(status).toBe(1);
  });
});
