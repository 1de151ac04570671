import { checkSpec, TroupeError, type AnySpec, type JobKind } from '@troupe/contracts';

/**
 * @throws TroupeError BAD_REQUEST when the options are larger than a job may carry; `details` name the place in the
 * body
 */
export function refuseTooLarge(kind: JobKind | 'scrape', spec: AnySpec): void {
  const breach = checkSpec(spec);
  if (breach === null) return;
  const { message } = breach;
  const path = placeInBody(kind, breach.path);
  throw new TroupeError('BAD_REQUEST', message, { details: [{ code: 'custom', path, message }] });
}

/** Bodies of batches and scrapes hold the options of their pages themselves; others in an object. */
function placeInBody(kind: JobKind | 'scrape', [first, ...rest]: (string | number)[]): (string | number)[] {
  if (first === undefined) return [];
  if (first === 'scope') return rest;
  if (first !== 'scrape') return [first, ...rest];
  return kind === 'batch' ? rest : ['scrapeOptions', ...rest];
}
