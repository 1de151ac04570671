import 'reflect-metadata';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { BatchDto } from '../v2/batch.dto.js';
import { batchFromV2 } from '../v2/batch.mapper.js';
import { CrawlDto } from '../v2/crawl.dto.js';
import { crawlSpecFromV2 } from '../v2/crawl.mapper.js';
import { ParamsPreviewDto } from '../v2/params-preview.controller.js';
import { MapDto } from '../v2/map.dto.js';
import { mapSpecFromV2 } from '../v2/map.mapper.js';
import { ScrapeDto } from '../v2/scrape.dto.js';
import { scrapeSpecFromV2 } from '../v2/scrape.mapper.js';
import { SearchDto } from '../v2/search.dto.js';
import { searchSpecFromV2 } from '../v2/search.mapper.js';
import { fieldSchemas, type Schema } from '../validation/fields.js';
import { readBody } from '../validation/read-body.js';
import { describeGateway } from './described-app.js';
import { recordedFile, recordText } from './record.js';
import { ROUTE_TEXTS } from './route-texts.js';

interface Operation {
  operationId: string;
  summary: string;
  parameters?: { name: string; in: string; schema: Schema }[];
  requestBody?: { content: Record<string, { schema: Schema; example?: object }> };
  security?: object[];
  responses: Record<string, object>;
}

interface Api {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, object>;
  components: { schemas: Record<string, Schema & { properties: Record<string, Schema>; required?: string[] }> };
}

let text: string;
let api: Api;
const operations = () =>
  Object.entries(api.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ path, method, operation })),
  );
const fieldsOf = (body: string) => api.components.schemas[body]!.properties;

beforeAll(async () => {
  text = recordText(await describeGateway());
  api = JSON.parse(text) as Api;
});

describe('the description of the interface', () => {
  it('is the recorded one (else: npm run openapi)', async () => {
    expect(text === (await readFile(recordedFile, 'utf8'))).toBe(true);
  });

  it('is OpenAPI 3.1 whose references all lead somewhere', () => {
    expect(api.openapi).toBe('3.1.0');
    const names = [...text.matchAll(/"\$ref": "#\/components\/schemas\/([^"]+)"/g)].map((match) => match[1]!);
    expect(names.length).toBeGreaterThan(50);
    expect(names.filter((name) => !(name in api.components.schemas))).toEqual([]);
    expect(text).not.toContain('"nullable"');
  });

  it('names every call once and declares every parameter of its path', () => {
    const ids = operations().map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { path, operation } of operations()) {
      const wanted = [...path.matchAll(/\{([^}]+)\}/g)].map((match) => match[1]);
      const declared = (operation.parameters ?? []).filter((parameter) => parameter.in === 'path');
      expect(declared.map(({ name }) => name)).toEqual(wanted);
    }
  });

  it('has a body for every call that sends one, and a legal example of it', () => {
    const examples: Record<string, new () => object> = {
      'POST /v2/scrape': ScrapeDto,
      'POST /v2/crawl': CrawlDto,
      'POST /v2/crawl/params-preview': ParamsPreviewDto,
      'POST /v2/batch/scrape': BatchDto,
      'POST /v2/map': MapDto,
      'POST /v2/search': SearchDto,
    };
    for (const [route, type] of Object.entries(examples)) {
      const [method = '', path = ''] = route.split(' ');
      const content = api.paths[path]![method.toLowerCase()]!.requestBody!.content['application/json']!;
      expect(content.schema).toEqual({ $ref: `#/components/schemas/${type.name.replace('Dto', 'Body')}` });
      expect(() => readBody(type, content.example)).not.toThrow();
    }
  });

  it('says of fields what their validation says', () => {
    expect(fieldsOf('MapBody').limit).toEqual({
      type: ['integer', 'null'],
      minimum: 1,
      maximum: 100_000,
      default: 100,
    });
    expect(fieldsOf('CrawlBody').delay).toEqual({ type: ['number', 'null'], exclusiveMinimum: 0, maximum: 60 });
    expect(fieldsOf('CrawlBody').sitemap).toMatchObject({
      enum: ['include', 'skip', 'only', null],
      default: 'include',
    });
    expect(fieldsOf('CrawlBody').scrapeOptions).toMatchObject({
      anyOf: [{ $ref: expect.any(String) }, { type: 'null' }],
    });
    expect(fieldsOf('SearchBody').query).toMatchObject({ type: 'string', minLength: 1 });
    expect(api.components.schemas.ScrapeBody).toMatchObject({ required: ['url'], additionalProperties: false });
  });

  it('asks for a key wherever the guard does', () => {
    const open = operations().filter(({ operation }) => operation.security?.length === 0);
    expect(open.map(({ path }) => path)).toEqual(['/v2/health/liveness', '/v2/health/readiness']);
  });

  it('tells of calls that exist, and of no refusals', () => {
    const routes = new Set(operations().map(({ path, method }) => `${method.toUpperCase()} ${path}`));
    const v2 = Object.keys(ROUTE_TEXTS).filter((route) => route.includes(' /v2/'));
    expect(v2.filter((route) => !routes.has(route))).toEqual([]);
    const admin = Object.keys(ROUTE_TEXTS).filter((route) => route.includes(' /admin/'));
    expect(admin.filter((route) => !routes.has(route))).toEqual([]);
    expect([...routes].filter((route) => route.includes('*') || route.includes('/v0'))).toEqual([]);
  });

  it('has the shape of every answer but those that only say yes', () => {
    const shapeless = operations().filter(({ operation }) =>
      JSON.stringify(operation.responses['200']).includes('/schemas/Success"'),
    );
    expect(shapeless.map(({ method, path }) => `${method} ${path}`).sort()).toEqual([
      'delete /admin/hosts/{pattern}',
      'delete /v2/agent/{id}',
      'post /admin/dead-letters/{id}/replay',
      'post /admin/hosts/{host}/release',
    ]);
  });

  it('describes the webhooks', () => {
    expect(Object.keys(api.webhooks)).toEqual(expect.arrayContaining(['crawl.page', 'batch_scrape.completed']));
  });
});

describe('a default in the description', () => {
  const limits = {
    maxScrapeTimeoutMs: 600_000,
    changeTrackingDiffShape: 'auto' as const,
    allowIgnoreRobots: true,
    concurrency: 10,
  };
  const bodies: [string, new () => object, object, (body: never) => unknown][] = [
    ['scrape', ScrapeDto, { url: 'x.example' }, (body: ScrapeDto) => scrapeSpecFromV2(body, limits)],
    ['crawl', CrawlDto, { url: 'x.example' }, (body: CrawlDto) => crawlSpecFromV2(body, limits)],
    ['map', MapDto, { url: 'x.example' }, (body: MapDto) => mapSpecFromV2(body)],
    ['search', SearchDto, { query: 'x' }, (body: SearchDto) => searchSpecFromV2(body, limits)],
    [
      'batch',
      BatchDto,
      { urls: ['x.example', 'no'] },
      (body: BatchDto) => batchFromV2(body, { ...limits, maxBatchUrls: 9, checkTarget: () => undefined }),
    ],
  ];

  it.each(bodies)('means the same as leaving the field out (%s)', (_, type, least, specOf) => {
    const defaults = [...fieldSchemas.of(type)].filter(([, { schema }]) => schema.default !== undefined);
    expect(defaults.length).toBeGreaterThan(0);
    const spelledOut = {
      ...least,
      ...Object.fromEntries(defaults.map(([name, { schema }]) => [name, schema.default])),
    };
    expect(specOf(readBody(type, spelledOut).body as never)).toEqual(specOf(readBody(type, least).body as never));
  });
});
