/** The interface as an OpenAPI 3.1 document, from the controllers and body classes of an application. */
import { type INestApplication } from '@nestjs/common';
import { DocumentBuilder, SwaggerModule, type OpenAPIObject } from '@nestjs/swagger';
import { ANSWER_SCHEMAS, ref } from './answer-schemas.js';
import { BodySchemas } from './body-schema.js';
import { ROUTE_TEXTS, WEBHOOK_EVENTS, type QueryName, type RouteText } from './route-texts.js';
import { routeFacts, routeKey, type RouteFacts } from './routes.js';
import { type Schema } from '../validation/fields.js';

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;
const ADMIN = '/admin/';
/** Without a minimum: a text. */
const QUERY: Record<QueryName, { description: string; minimum?: number }> = {
  skip: { description: 'Documents or rows to pass over', minimum: 0 },
  limit: { description: 'Most documents or rows in one answer', minimum: 1 },
  after: { description: 'Where the page before ended: part of the address in its `next`' },
  before: { description: 'Only what was started before this moment, in unix milliseconds', minimum: 0 },
};

interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema: Schema;
}

/** As the description of Nest has it; `operationId` is the key of the route. */
interface Operation {
  operationId: string;
  parameters?: Parameter[];
}

export function describeApi(app: INestApplication): OpenAPIObject {
  const config = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Troupe')
    .setDescription('A web crawler cluster that speaks the Firecrawl API.')
    .setVersion('2')
    .addServer('/')
    .addBearerAuth({ type: 'http', scheme: 'bearer', description: 'The API key of a team' }, 'apiKey')
    .addBearerAuth({ type: 'http', scheme: 'bearer', description: 'ADMIN_KEY of the installation' }, 'adminKey')
    .addSecurityRequirements('apiKey')
    .build();
  const facts = routeFacts(app);
  const bare = SwaggerModule.createDocument(app, config, { operationIdFactory: routeKey });
  const bodies = new BodySchemas();
  const paths = describePaths(bare.paths, facts, bodies);
  const schemas = { ...ANSWER_SCHEMAS, ...bodies.components };
  // Through JSON: what is undefined in a schema is not there.
  return JSON.parse(
    JSON.stringify({ ...bare, paths, webhooks: describeWebhooks(), components: { ...bare.components, schemas } }),
  ) as OpenAPIObject;
}

function describePaths(paths: object, facts: Map<string, RouteFacts>, bodies: BodySchemas): Record<string, object> {
  const described: Record<string, Record<string, object>> = {};
  for (const [path, item] of inOrderOfTheirTexts(paths)) {
    for (const method of METHODS) {
      const operation = item[method];
      const route = operation === undefined ? undefined : facts.get(operation.operationId);
      if (operation === undefined || route === undefined || path === '/') continue;
      (described[path] ??= {})[method] = describeOperation({ path, method, operation, route }, bodies);
    }
  }
  return described;
}

/** Nest knows the routes in the order of modules, which means nothing to a reader of the API. */
function inOrderOfTheirTexts(paths: object): [string, Record<string, Operation>][] {
  const told = [...new Set(Object.keys(ROUTE_TEXTS).map((route) => route.slice(route.indexOf(' ') + 1)))];
  const known = Object.entries(paths) as [string, Record<string, Operation>][];
  return known.toSorted(([a], [b]) => told.indexOf(a) - told.indexOf(b));
}

interface Place {
  path: string;
  method: string;
  operation: Operation;
  route: RouteFacts;
}

function describeOperation({ path, method, operation, route }: Place, bodies: BodySchemas): object {
  const told: RouteText = ROUTE_TEXTS[`${method.toUpperCase()} ${path}`] ?? { answer: 'Success' };
  const parameters = [
    ...(operation.parameters ?? []).filter(({ in: place }) => place === 'path').map(typed),
    ...queryOf(told),
  ];
  return {
    operationId: idOf(method, path),
    summary: told.summary ?? wordsOf(operation.operationId),
    tags: [tagOf(path)],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(route.body === null ? {} : { requestBody: bodyOf(bodies.refOf(route.body), told.example) }),
    responses: {
      200: { description: 'Success', content: json(ref(told.answer)) },
      ...(route.body === null ? {} : { 400: refusal('The body is not what it should be') }),
      ...(isOpen(path, route) ? {} : { 401: refusal('The key is missing or unknown') }),
      '4XX': refusal('Refused'),
      '5XX': refusal('Failed'),
    },
    ...securityOf(path, route),
  };
}

/** The admin API has a guard and a key of its own. */
function securityOf(path: string, route: RouteFacts): { security?: object[] } {
  if (path.startsWith(ADMIN)) return { security: [{ adminKey: [] }] };
  return isOpen(path, route) ? { security: [] } : {};
}

function isOpen(path: string, { isPublic }: RouteFacts): boolean {
  return isPublic && !path.startsWith(ADMIN);
}

/** Ids in paths are UUIDs. */
function typed(parameter: Parameter): Parameter {
  return /id$/i.test(parameter.name) ? { ...parameter, schema: { type: 'string', format: 'uuid' } } : parameter;
}

function queryOf({ query = [] }: RouteText): Parameter[] {
  return query.map((name) => {
    const { description, minimum } = QUERY[name];
    const schema = minimum === undefined ? { type: 'string' } : { type: 'integer', minimum };
    return { name, in: 'query', description, schema };
  });
}

function bodyOf(schema: Schema, example: object | undefined): object {
  return { required: true, content: json(schema, example) };
}

function json(schema: Schema, example?: object): object {
  return { 'application/json': { schema, ...(example === undefined ? {} : { example }) } };
}

function refusal(description: string): object {
  return { description, content: json(ref('Error')) };
}

/** `get /v2/crawl/{id}` -> `getV2CrawlId`: unique, whatever controllers and their methods are called. */
function idOf(method: string, path: string): string {
  const words = path.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  return method + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}

/** `CrawlController.startCrawl` -> `Start crawl` */
function wordsOf(key: string): string {
  const words = key
    .slice(key.indexOf('.') + 1)
    .replace(/([a-z])([A-Z])/g, (_, a: string, b: string) => `${a} ${b.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** `/v2/batch/scrape/{id}` -> `batch (v2)` */
function tagOf(path: string): string {
  const [first = '', second] = path.split('/').filter((part) => part !== '');
  return /^v\d$/.test(first) && second !== undefined ? `${second} (${first})` : first;
}

function describeWebhooks(): Record<string, object> {
  const headers = [
    {
      name: 'X-Firecrawl-Signature',
      in: 'header',
      description: 'sha256= and the HMAC-SHA256 of the body in hex, when the team has a webhook secret',
      schema: { type: 'string' },
    },
    {
      name: 'X-Troupe-Signature-Previous',
      in: 'header',
      description: 'the same with the secret before the present one, for 24 h after it was replaced',
      schema: { type: 'string' },
    },
  ];
  const responses = { '2XX': { description: 'Received; anything else is sent again' } };
  return Object.fromEntries(
    Object.entries(WEBHOOK_EVENTS).map(([event, summary]) => [
      event,
      { post: { summary, parameters: headers, requestBody: bodyOf(ref('WebhookEvent'), undefined), responses } },
    ]),
  );
}
