import type { Request } from 'express';
import { ApiError } from '../errors/api-error.js';

/** The key of `Authorization: Bearer <key>`. @throws ApiError 401 */
export function bearerToken(request: Pick<Request, 'headers'>): string {
  const header = request.headers.authorization;
  if (header === undefined) throw new ApiError(401, 'Unauthorized');
  const [scheme = '', token = ''] = header.trim().split(/\s+/, 2);
  if (scheme.toLowerCase() !== 'bearer') throw new ApiError(401, 'Unauthorized');
  if (token === '') throw new ApiError(401, 'Unauthorized: Token missing');
  return token;
}
