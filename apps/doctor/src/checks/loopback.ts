/** Whether requests to `host` (with or without a port) stay on this machine. */
export function isLoopback(host: string): boolean {
  const name = host.replace(/:\d+$/, '').replace(/^\[|\]$/g, '');
  return name === 'localhost' || name === '::1' || name === '' || name.startsWith('127.');
}
