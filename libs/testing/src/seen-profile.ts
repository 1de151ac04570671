/** The `branding` of a document as specs look at it. */
export interface SeenProfile {
  colorScheme: string;
  brandName: string;
  logo: string;
  fonts: object[];
  colors: Record<string, string>;
  typography: Record<string, unknown>;
  spacing: Record<string, unknown>;
  components: Record<string, Record<string, string>>;
  images: Record<string, string>;
}
