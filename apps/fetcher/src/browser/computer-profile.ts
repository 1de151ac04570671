/**
 * A computer that people browse with, as far as a page can tell. Profiles are made in a thread, because the generator's
 * tables take long to read.
 */
export interface ComputerProfile {
  /** In CSS pixels, at one device pixel each. */
  screen: { width: number; height: number };
  /** Rows of the screen that windows leave free. */
  taskBar: number;
  /** As WebGL names it. */
  videoCard: { vendor: string; renderer: string };
}

export type ComputerProfiles = Record<'desktop' | 'phone', ComputerProfile[]>;
