import { type NestExpressApplication } from '@nestjs/platform-express';
import type { NextFunction, Request, Response } from 'express';
import { createRequire } from 'node:module';
import path from 'node:path';

const ASSETS = path.dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
const PAGE_PATH = '/docs';
const DESCRIPTION_PATH = '/openapi.json';

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Troupe API</title>
<link rel="stylesheet" href="/docs/swagger-ui.css">
<link rel="icon" href="/docs/favicon-32x32.png">
</head>
<body>
<div id="api"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script>
// The badge of the page would send the description to a server elsewhere.
SwaggerUIBundle({ url: '/openapi.json', dom_id: '#api', tryItOutEnabled: true, defaultModelsExpandDepth: 0, validatorUrl: 'none' });
</script>
</body>
</html>
`;

/**
 * Serves `/openapi.json`, and `/docs` where its calls can be tried. Both need no key and use files of our own. The
 * description is made at the first request, by code that is loaded then: it takes as much memory as a tenth of a
 * gateway.
 */
export function serveDocs(app: NestExpressApplication): void {
  let description: Promise<string> | null = null;
  app.use(DESCRIPTION_PATH, (_: Request, response: Response, next: NextFunction) => {
    description ??= import('./describe-api.js').then(({ describeApi }) => JSON.stringify(describeApi(app)));
    description.then((json) => void response.type('application/json').send(json), next);
  });
  app.use(PAGE_PATH, (request: Request, response: Response, next: NextFunction) => {
    if (request.path !== '/') return next();
    response.type('html').send(PAGE);
  });
  app.useStaticAssets(ASSETS, { prefix: `${PAGE_PATH}/`, index: false, maxAge: '1h' });
}
