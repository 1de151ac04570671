/** Real pages with what is to be read from them, labelled by hand (test/sites/labelled/README.md). */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { workspace } from '../support/cluster.js';

export interface LabelledPage {
  family: string;
  /** File below `test/sites/labelled/files`. */
  page: string;
  /** Where it would be on the web: links count from here. */
  url: string;
  expected: unknown;
}

export interface Family {
  schema: Record<string, unknown>;
  /** As a client sends them. */
  selectors: unknown;
}

const FOLDER = path.join(workspace, 'test/sites/labelled');

function readJson<T>(name: string): T {
  return JSON.parse(readFileSync(path.join(FOLDER, name), 'utf8')) as T;
}

export const labelledPages: LabelledPage[] = readJson('labels.json');
export const families: Record<string, Family> = readJson('families.json');

export function bytesOf({ page }: Pick<LabelledPage, 'page'>): Buffer {
  return readFileSync(path.join(FOLDER, 'files', page));
}
