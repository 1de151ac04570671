import { Module } from '@nestjs/common';
import { PageModels } from './page-models.js';

@Module({ providers: [PageModels], exports: [PageModels] })
export class ModelsModule {}
