/** An address as it may stand in a span: without credentials, query and fragment. Empty when it is none. */
export function spanUrl(address: string): string {
  const url = URL.parse(address);
  return url === null || url.host === '' ? '' : `${url.protocol}//${url.host}${url.pathname}`;
}
