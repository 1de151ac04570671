/** Whether the right pages came out: each wanted one, once, with the mark of its own page in its text. */

/**
 * @typedef {object} Outcome
 * @property {number} wanted
 * @property {number} documents
 * @property {number} good wanted pages that came with their own mark
 * @property {number} repeated
 * @property {number} strange documents that are no page of the site
 * @property {boolean} isRight
 */

export class OutcomeCheck {
  #seen = new Set();
  #documents = 0;
  #good = 0;
  #repeated = 0;
  #strange = 0;

  /** @param {import('./site.mjs').Site} site @param {number} wanted how many pages there should be */
  constructor(site, wanted) {
    this.site = site;
    this.wanted = wanted;
  }

  /** @param {string | undefined} url @param {string | undefined} text */
  add(url, text) {
    this.#documents++;
    const page = url === undefined ? null : this.site.identify(url);
    if (page === null) this.#strange++;
    else if (this.#seen.has(page.key)) this.#repeated++;
    else {
      this.#seen.add(page.key);
      if (text?.includes(page.mark)) this.#good++;
    }
  }

  /** @returns {Outcome} */
  result() {
    return {
      wanted: this.wanted,
      documents: this.#documents,
      good: this.#good,
      repeated: this.#repeated,
      strange: this.#strange,
      isRight: this.#documents === this.wanted && this.#good === this.wanted,
    };
  }
}
