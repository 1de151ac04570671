/** Exit codes of the launcher, as `--help` documents them. */
export const EXIT = { ok: 0, jobFailed: 1, usage: 2, notStarted: 3, alreadyRunning: 4, interrupted: 130 };

/** A failure with a sentence for people: what happened and how to mend it. Shown without a stack. */
export class StartFailure extends Error {
  /** @param {string} message @param {number} [exitCode] */
  constructor(message, exitCode = EXIT.notStarted) {
    super(message);
    this.name = 'StartFailure';
    this.exitCode = exitCode;
  }
}
