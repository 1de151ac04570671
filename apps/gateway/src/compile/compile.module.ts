import { Module } from '@nestjs/common';
import { CompileThread } from './compile-thread.js';

@Module({ providers: [CompileThread], exports: [CompileThread] })
export class CompileModule {}
