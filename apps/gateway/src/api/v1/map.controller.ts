import { Body, Controller, HttpCode, Post, Res } from '@nestjs/common';
import type { Response } from 'express';
import { AsCaller, type Caller } from '../../auth/caller.js';
import { MapController } from '../v2/map.controller.js';
import { BodyPipe } from '../validation/body.pipe.js';
import { type ReadBody } from '../validation/read-body.js';
import { MapV1Dto } from './map.dto.js';
import { mapFromV1, mapLinksToV1 } from './map.mapper.js';

@Controller('v1/map')
export class MapV1Controller {
  constructor(private readonly maps: MapController) {}

  @Post()
  @HttpCode(200)
  async map(
    @AsCaller() caller: Caller,
    @Body(new BodyPipe(MapV1Dto)) read: ReadBody<MapV1Dto>,
    @Res({ passthrough: true }) response: Response,
  ) {
    const { id, links, ...rest } = await this.maps.map(caller, mapFromV1(read), response);
    const scrapeId = read.body.origin?.includes('website') ? { scrape_id: id } : {};
    return { ...rest, ...scrapeId, links: mapLinksToV1(links) };
  }
}
