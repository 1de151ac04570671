import type { ScopeRuleFactory } from './rule.js';

const SLASH = 47;
const DOT = 46;

/** Files that are linked but are neither pages nor documents we read. Unknown extensions stay: many pages have one. */
const SKIPPED_EXTENSIONS = new Set(
  [
    'png jpg jpeg jpe jfif gif webp avif bmp ico cur tif tiff svg svgz heic heif jxl psd ai eps raw cr2 nef xcf',
    'mp3 m4a aac ogg oga opus wav wma flac mid midi aif aiff ra mka',
    'mp4 m4v webm mkv mov avi wmv flv mpg mpeg ogv 3gp 3g2 ts m3u m3u8 mpd vtt srt swf',
    'zip gz tgz bz2 tbz tbz2 xz txz lz lzma zst br 7z rar tar jar war ear cab cpio z ace arj',
    'exe msi msix dmg pkg app deb rpm apk aab ipa appimage snap flatpak iso img bin run com dll so dylib o a class',
    'pyc pyo whl egg gem crate nupkg xpi crx vsix torrent',
    'woff woff2 ttf otf eot css scss sass less js mjs cjs jsx map wasm',
    'sqlite sqlite3 db mdb dump bak parquet avro npy npz h5 hdf5 pkl onnx safetensors mobi azw azw3 epub',
    'sig asc sha1 sha256 sha512 md5 crt cer der pem p7s p12 pfx',
  ].flatMap((line) => line.split(' ')),
);

/** Rule `file-type`: links to images, media, archives, programs, fonts, styles and scripts are not pages. */
export const fileTypeRule: ScopeRuleFactory =
  () =>
  ({ pathname }) => {
    const extension = extensionOf(pathname);
    return extension !== '' && SKIPPED_EXTENSIONS.has(extension) ? 'file-type' : null;
  };

/** Extension of the last path segment in lower case, empty when there is none. */
export function extensionOf(pathname: string): string {
  for (let at = pathname.length - 1; at > 0; at--) {
    const c = pathname.charCodeAt(at);
    if (c === SLASH) return '';
    if (c === DOT) return pathname.charCodeAt(at - 1) === SLASH ? '' : pathname.slice(at + 1).toLowerCase();
  }
  return '';
}
