import { Module } from '@nestjs/common';
import { HttpModule } from '../http/http.module.js';
import { Readiness } from './readiness.js';

@Module({ imports: [HttpModule], providers: [Readiness], exports: [Readiness] })
export class HealthModule {}
