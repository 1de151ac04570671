import { Module } from '@nestjs/common';
import { CompileModule } from '../../compile/compile.module.js';
import { BodyCheck } from './body-check.js';

@Module({ imports: [CompileModule], providers: [BodyCheck], exports: [BodyCheck] })
export class ValidationModule {}
