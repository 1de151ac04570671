/**
 * As `AbortSignal.timeout`, and kept alive until the time is up.
 *
 * A signal that is made by `AbortSignal.any` holds its sources weakly, in Node.js as the DOM standard asks; Node.js 20 lets a
 * timeout among them be collected although something waits for it, which then waits forever (ADR 0034).
 *
 * @param ms at most 2^31 - 1
 */
export function timeoutSignal(ms: number): AbortSignal {
  const controller = new AbortController();
  const end = (): void =>
    controller.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'));
  setTimeout(end, ms).unref();
  return controller.signal;
}
