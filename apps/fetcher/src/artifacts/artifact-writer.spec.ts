import { describe, expect, it } from '@jest/globals';
import type { Artifact } from '@troupe/blob-store';
import type { Captured } from '@troupe/contracts';
import { ArtifactWriter } from './artifact-writer.js';

const SHA = 'a'.repeat(64);
const NOW = Date.UTC(2026, 10, 22, 10, 30);

function fixture(isAway = false) {
  const stored: { artifact: Artifact; hour: string }[] = [];
  const writer = new ArtifactWriter({
    artifacts: {
      put: async (artifact, hour) => {
        if (isAway) throw new Error('the bucket is away');
        stored.push({ artifact, hour });
        return `${hour}/${SHA.slice(0, 2)}/${SHA}`;
      },
    },
    publicBaseUrl: 'https://crawl.example/base/',
    resultTtlHours: 24,
    wallMs: () => NOW,
  });
  return { stored, writer };
}

const dataUri = (type: string, text: string) => `data:${type};base64,${Buffer.from(text).toString('base64')}`;
const ACTIONS = { screenshots: [], scrapes: [], javascriptReturns: [], pdfs: [] };

describe('the writer of artifacts', () => {
  it('puts addresses in the place of pictures and files, and leaves the rest', async () => {
    const { stored, writer } = fixture();
    const captured: Captured = {
      screenshot: dataUri('image/png', 'one'),
      branding: { logo: dataUri('image/png', 'logo') },
      warning: 'said',
      actions: {
        ...ACTIONS,
        screenshots: [dataUri('image/jpeg', 'two'), dataUri('image/png', 'three')],
        pdfs: [dataUri('application/pdf', 'four')],
        scrapes: [{ url: 'http://site.test/', html: '<p>' }],
      },
    };
    const address = (extension: string) =>
      `https://crawl.example/base/artifacts/2026112511/${SHA.slice(0, 2)}/${SHA}.${extension}`;
    expect(await writer.keep(captured)).toEqual({
      ...captured,
      screenshot: address('png'),
      actions: { ...captured.actions, screenshots: [address('jpg'), address('png')], pdfs: [address('pdf')] },
    });
    const texts = stored.map(({ artifact }) => Buffer.from(artifact.bytes).toString());
    expect(texts).toEqual(['one', 'two', 'three', 'four']);
    expect(stored.map(({ artifact }) => artifact.type)).toEqual([
      'image/png',
      'image/jpeg',
      'image/png',
      'application/pdf',
    ]);
  });

  it('stores nothing for a page that brought nothing', async () => {
    const { stored, writer } = fixture();
    expect(await writer.keep({ warning: 'said' })).toEqual({ warning: 'said' });
    expect(stored).toEqual([]);
  });

  it('fails with an error that another try may mend while the store is away', async () => {
    const { writer } = fixture(true);
    await expect(writer.keep({ screenshot: dataUri('image/png', 'one') })).rejects.toMatchObject({
      code: 'UNKNOWN_ERROR',
      httpStatus: 503,
      retryable: true,
    });
  });
});
