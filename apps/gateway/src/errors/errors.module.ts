import { Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { ApiExceptionFilter } from './api-exception.filter.js';

@Module({
  providers: [ApiExceptionFilter, { provide: APP_FILTER, useExisting: ApiExceptionFilter }],
  exports: [ApiExceptionFilter],
})
export class ErrorsModule {}
