import type { Response } from 'express';

/** An answer assembled from bytes: `{"success":true,…,"data":<document>}`. The document is not parsed. */
export function sendDocument(response: Response, document: Uint8Array, extra: Record<string, unknown> = {}): void {
  const head = JSON.stringify({ success: true, ...extra });
  const body = Buffer.concat([Buffer.from(`${head.slice(0, -1)},"data":`), document, CLOSE]);
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'content-length': body.byteLength });
  response.end(body);
}

const CLOSE = Buffer.from('}');
