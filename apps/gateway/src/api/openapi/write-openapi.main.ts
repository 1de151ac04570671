/** `npm run openapi`: records the description in `docs/openapi.json`, where a change shows in review. */
import 'reflect-metadata';
import { writeFile } from 'node:fs/promises';
import { describeGateway } from './described-app.js';
import { recordedFile, recordText } from './record.js';

await writeFile(recordedFile, recordText(await describeGateway()));
