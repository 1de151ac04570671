/** Tokens of calls of a language model. */
export interface TokenCount {
  prompt: number;
  answer: number;
}
