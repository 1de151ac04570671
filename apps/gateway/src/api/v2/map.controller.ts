import { Body, Controller, HttpCode, Post, Res } from '@nestjs/common';
import type { Response } from 'express';
import { AsCaller, type Caller } from '../../auth/caller.js';
import { clientGone } from '../../http/client-gone.js';
import { sendList } from '../../http/send-list.js';
import { BodyPipe } from '../validation/body.pipe.js';
import { type ReadBody } from '../validation/read-body.js';
import { MapCall } from './map.call.js';
import { MapDto } from './map.dto.js';

@Controller('v2/map')
export class MapController {
  constructor(private readonly call: MapCall) {}

  @Post()
  @HttpCode(200)
  async map(
    @AsCaller() caller: Caller,
    @Body(BodyPipe(MapDto)) read: ReadBody<MapDto>,
    @Res() response: Response,
  ): Promise<void> {
    const { links, ...head } = await this.call.answer(caller, read, clientGone(response));
    await sendList(response, head, { name: 'links', items: links });
  }
}
