import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { readConfig } from '@troupe/config';
import { modelEnv, startModelServer, type ModelServer } from '../../../../test/support/model-server/index.js';
import { TeamModels } from './team-models.js';

const TEAM = '00000000-0000-4000-8000-000000000001';
let server: ModelServer;
let models: TeamModels;

beforeAll(async () => {
  server = await startModelServer();
  models = new TeamModels({
    accessOf: () => null,
    budget: { check: () => Promise.resolve(), spend: () => undefined },
    config: readConfig({ DATABASE_URL: 'postgres://db', NATS_URL: 'nats://bus', ...modelEnv(server) }),
  });
});

afterAll(async () => {
  await models.close();
  await server.close();
});

it('fills a schema from the data', async () => {
  const model = await models.of(TEAM);
  const text =
    '# Blue lamp\n\n**Price:** 12.50 €\n\n## Reviews\n\n| Author | Stars |\n| --- | --- |\n| Ann | 4 |\n| Bob | 5 |\n';
  const answer = await model.ask(
    {
      purpose: 'json',
      team: TEAM,
      instructions: 'Extract.',
      request: null,
      data: [{ label: 'page', url: 'http://shop.test/1', text }],
      schema: {
        type: 'object',
        properties: {
          name: { type: 'string' },
          price: { type: 'number' },
          weight: { type: ['number', 'null'] },
          reviews: {
            type: 'array',
            items: { type: 'object', properties: { author: { type: 'string' }, stars: { type: 'integer' } } },
          },
        },
        required: ['name', 'price', 'weight', 'reviews'],
      },
    },
    { deadlineMs: 10_000, signal: new AbortController().signal },
  );
  expect(answer.value).toEqual({
    name: 'Blue lamp',
    price: 12.5,
    weight: null,
    reviews: [
      { author: 'Ann', stars: 4 },
      { author: 'Bob', stars: 5 },
    ],
  });
  expect(server.requests[0]).toMatchObject({ purpose: 'json', mode: 'json_schema', status: 200 });
});
