/**
 * Refusals of well-formed requests for what is not permitted (403), or not there (400). No wish is ignored silently.
 */
import { hasModel, type TroupeConfig } from '@troupe/config';
import { type Caller } from '../../auth/caller.js';
import { ApiError } from '../../errors/api-error.js';
import { InvalidBodyError, noModel, under, type IssuePath } from '../validation/issue.js';
import { modelIssues, type FormatInput } from './formats.dto.js';

type ModelSettings = Pick<TroupeConfig, 'llmProvider'>;

/** A language model may be the installation's or the team's own. */
export function mayUseModel(caller: Pick<Caller, 'hasModel'>, config: ModelSettings): boolean {
  return caller.hasModel || hasModel(config);
}

/**
 * @param path of the scrape options inside the body
 * @throws InvalidBodyError for formats that only a language model can write, where there is none
 */
export function refuseModelFormats(
  formats: readonly FormatInput[] | undefined,
  path: IssuePath,
  { caller, config }: { caller: Pick<Caller, 'hasModel'>; config: ModelSettings },
): void {
  const issues = mayUseModel(caller, config) ? [] : modelIssues(formats ?? []);
  if (issues.length > 0) throw new InvalidBodyError(under([...path, 'formats'], issues));
}

/** @throws InvalidBodyError for a prompt when there is no model to read it */
export function refusePrompt(caller: Pick<Caller, 'hasModel'>, config: ModelSettings): void {
  if (!mayUseModel(caller, config)) throw new InvalidBodyError([noModel('A prompt', ['prompt'])]);
}

export function refuseZeroDataRetention(asked: boolean | undefined, caller: Pick<Caller, 'flags'>): void {
  if (asked && caller.flags.zeroDataRetention !== true)
    throw new ApiError(403, 'Zero data retention is not enabled for this team');
}

/** An installation may permit it to all teams, or to single ones. */
export function mayIgnoreRobots({ flags }: Pick<Caller, 'flags'>, config: { allowIgnoreRobots: boolean }): boolean {
  return config.allowIgnoreRobots || flags.ignoreRobots === true;
}

export function refuseIgnoringRobots(asked: boolean | undefined, isAllowed: boolean): void {
  if (asked && !isAllowed) throw new ApiError(403, 'ignoreRobotsTxt is not enabled for this team');
}
