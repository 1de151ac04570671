import { ModelError, type LanguageModel, type ModelAnswer, type ModelQuestion } from '../models/model.js';

type Limits = Parameters<LanguageModel['ask']>[1];

/** A model that knows what the calls of one step have used in all; a call that fails tells it with its error. */
export class MeteredModel implements LanguageModel {
  private prompt = 0;
  private answer = 0;

  constructor(private readonly model: LanguageModel) {}

  get tokens(): number {
    return this.prompt + this.answer;
  }

  get contextTokens(): number {
    return this.model.contextTokens;
  }

  countTokens(text: string): number {
    return this.model.countTokens(text);
  }

  async ask(question: ModelQuestion, limits: Limits): Promise<ModelAnswer> {
    try {
      const answer = await this.model.ask(question, limits);
      this.count(answer.tokens);
      return answer;
    } catch (error) {
      if (!(error instanceof ModelError)) throw error;
      this.count(error.tokens);
      const tokens = { prompt: this.prompt, answer: this.answer };
      throw new ModelError(error.code, error.message, { tokens, retryable: error.retryable, cause: error });
    }
  }

  private count({ prompt, answer }: ModelAnswer['tokens']): void {
    this.prompt += prompt;
    this.answer += answer;
  }
}
