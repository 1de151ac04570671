import { Body, Controller, HttpCode, Post, Res } from '@nestjs/common';
import type { Response } from 'express';
import { AsCaller, type Caller } from '../../auth/caller.js';
import { clientGone } from '../../http/client-gone.js';
import { sendList } from '../../http/send-list.js';
import { MapCall } from '../v2/map.call.js';
import { BodyPipe } from '../validation/body.pipe.js';
import { type ReadBody } from '../validation/read-body.js';
import { MapV1Dto } from './map.dto.js';
import { mapFromV1, mapLinksToV1 } from './map.mapper.js';

@Controller('v1/map')
export class MapV1Controller {
  constructor(private readonly call: MapCall) {}

  @Post()
  @HttpCode(200)
  async map(
    @AsCaller() caller: Caller,
    @Body(BodyPipe(MapV1Dto)) read: ReadBody<MapV1Dto>,
    @Res() response: Response,
  ): Promise<void> {
    const { id, links, ...rest } = await this.call.answer(caller, mapFromV1(read), clientGone(response));
    const scrapeId = read.body.origin?.includes('website') ? { scrape_id: id } : {};
    await sendList(response, { ...rest, ...scrapeId }, { name: 'links', items: mapLinksToV1(links) });
  }
}
