import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { workspace } from '../support/cluster.js';
import { policyProblems } from './manifest-policy.js';
import { readManifests } from './manifests.js';

const text = readFileSync(path.join(workspace, 'test/ops/golden/default.yaml'), 'utf8');

/** The problems of the default set once `from` is replaced in it. */
function problemsWith(from: string | RegExp, to: string): string {
  const changed = text.replaceAll(from, to);
  expect(changed).not.toBe(text);
  return policyProblems(readManifests(changed)).join('\n');
}

describe('the rules for manifests', () => {
  it('find nothing in the chart as it is', () => {
    expect(policyProblems(readManifests(text))).toEqual([]);
  });

  it.each([
    ['root', /runAsNonRoot: true/g, 'runAsNonRoot: false', 'may run as root'],
    ['user 0', /runAsUser: 10001/g, 'runAsUser: 0', 'may run as root'],
    ['rights that grow', /allowPrivilegeEscalation: false/g, 'allowPrivilegeEscalation: true', 'may gain rights'],
    ['a root file system', /readOnlyRootFilesystem: true/g, 'readOnlyRootFilesystem: false', 'may write to its root'],
    ['capabilities', /- ALL/g, '- NET_RAW', 'keeps capabilities'],
    ['no seccomp profile', /type: RuntimeDefault/g, 'type: Unconfined', 'has no seccomp profile'],
    [
      'a token',
      /automountServiceAccountToken: false/g,
      'automountServiceAccountToken: true',
      'token of the API server',
    ],
    ['latest', /(image: [^:\n]+):[\w.-]+/g, '$1:latest', 'has no fixed version'],
    ['no limit', /limits:\n( +)ephemeral-storage: .*\n +memory: .*/g, 'limits:\n$1cpu: 1', 'has no limit of memory'],
    ['no probe', /readinessProbe/g, 'readyProbe', 'has no readinessProbe'],
    [
      'a short grace',
      /GracePeriodSeconds: 60/g,
      'GracePeriodSeconds: 30',
      'troupe-gateway: gateway may need 35 s to drain',
    ],
    ['no size', /sizeLimit: .*/g, 'size: ""', 'has no size limit'],
    [
      'a wrong target',
      /(scaleTargetRef:\n.*\n.*\n +name: troupe-)gateway/g,
      '$1gate',
      'scales troupe-gate, which is not there',
    ],
    [
      'a wrong selector',
      /(selector:\n +app.kubernetes.io\/component: )gateway/g,
      '$1gate',
      'Service troupe: selects no pod',
    ],
    [
      'settings of nobody',
      /(configMapRef:\n +name: troupe-con)fig/g,
      '$1',
      'takes settings from troupe-con, which is not',
    ],
  ])('see %s', (_, from, to, problem) => {
    expect(problemsWith(from, to)).toContain(problem);
  });
});
