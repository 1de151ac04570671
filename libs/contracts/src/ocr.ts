/** A picture without compression: rows from the top, four bytes a pixel. */
export interface Raster {
  width: number;
  height: number;
  rgba: Uint8Array;
}

/** Recognises text in pictures. Declared here, implemented where an engine is configured. */
export interface Ocr {
  /**
   * @param picture the bytes of a PNG, or the pixels themselves
   * @param languages BCP 47, most likely first
   * @returns plain text, lines parted by newlines, paragraphs by blank lines; empty when there is none
   */
  recognise(picture: Uint8Array | Raster, languages?: readonly string[]): Promise<string>;
}
