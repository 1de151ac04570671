import { type NestExpressApplication } from '@nestjs/platform-express';
import { SwaggerModule } from '@nestjs/swagger';
import { describeApi } from './describe-api.js';

/**
 * `/openapi.json`, and `/docs` where its calls can be tried: for anybody, from files of our own, described at the first
 * request.
 */
export function serveDocs(app: NestExpressApplication): void {
  SwaggerModule.setup('docs', app, () => describeApi(app), {
    jsonDocumentUrl: 'openapi.json',
    raw: ['json'],
    customSiteTitle: 'Troupe API',
    swaggerOptions: {
      tryItOutEnabled: true,
      defaultModelsExpandDepth: 0,
      // The badge of the page would send the description to a server elsewhere.
      validatorUrl: 'none',
    },
  });
}
