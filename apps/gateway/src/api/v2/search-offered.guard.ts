import { Injectable, type CanActivate } from '@nestjs/common';
import { SearchService } from '../../search/search.service.js';

/** Where there is no search provider, the call is not offered, whatever its body says. */
@Injectable()
export class SearchOfferedGuard implements CanActivate {
  constructor(private readonly searches: SearchService) {}

  canActivate(): boolean {
    this.searches.checkOffered();
    return true;
  }
}
