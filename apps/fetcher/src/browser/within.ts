/** The result of `work`, or null when it fails or takes longer: for work that a hanging page can do without. */
export async function within<T>(work: Promise<T>, limitMs: number): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => (timer = setTimeout(() => resolve(null), limitMs)));
  return Promise.race([work.catch(() => null), late]).finally(() => clearTimeout(timer));
}
