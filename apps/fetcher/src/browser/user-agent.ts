/** The browser's name for itself, in its user agent and its client hints. */

/** Chromium as it is, without the word "Headless" that many sites refuse, and our own name. */
export function browserUserAgent(version: string, isMobile: boolean, own: string): string {
  const device = isMobile ? 'Linux; Android 10; K' : 'X11; Linux x86_64';
  const [major = ''] = version.split('.');
  const product = `Chrome/${major}.0.0.0${isMobile ? ' Mobile' : ''}`;
  return `Mozilla/5.0 (${device}) AppleWebKit/537.36 (KHTML, like Gecko) ${product} Safari/537.36 ${own}`.trim();
}

/** The brands that Chromium of this version names, as it makes them up and in its order; the shell adds one of its own. */
export function brandsOf(version: string): {
  brands: UserAgentBrand[];
  fullVersionList: UserAgentBrand[];
  fullVersion: string;
} {
  const major = Number.parseInt(version) || 0;
  const mark = (at: number): string => ' (:-./);=?_'.charAt(at % 11);
  const greased = `Not${mark(major)}A${mark(major + 1)}Brand`;
  const greasedVersion = ['8', '99', '24'][major % 3] ?? '8';
  const inOrder = (own: string, other: string): UserAgentBrand[] => {
    const brands = [
      { brand: greased, version: other },
      { brand: 'Chromium', version: own },
    ];
    return major % 2 === 0 ? brands : brands.reverse();
  };
  return {
    brands: inOrder(String(major), greasedVersion),
    fullVersionList: inOrder(version, `${greasedVersion}.0.0.0`),
    fullVersion: version,
  };
}

interface UserAgentBrand {
  brand: string;
  version: string;
}
