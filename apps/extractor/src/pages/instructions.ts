/** Our words to a model that reads pages. The text of a page never comes in here; the prompt delimits the data. */

const PART =
  'The data is one part of a longer page: answer for this part alone. What it does not tell, other parts may tell.';
const SAME_LANGUAGE = 'Write in the language of the page, unless the request asks for another.';

export const JSON_OF_PAGE = `Read the facts that the request asks for out of the page in the data, and answer with JSON.
Copy names, titles and identifiers as the page writes them. Write numbers as plain numbers, without units, currency signs or thousands separators.
Keep lists in the order of the page, complete, and without repeats. Leave out what belongs to the site rather than to the page: menus, adverts, notes on cookies.
What the page does not say is null where the schema allows it, absent or an empty list otherwise. Never guess, compute or complete it from what you know.`;

export const JSON_OF_PART = `${JSON_OF_PAGE}\n${PART}`;

export const JSON_OF_MERGED = `The data holds facts as JSON that were read from the parts of one page. Answer with the same facts in the form that the schema asks for.
Move and rename fields where that is needed, and leave out what has no place. Add no fact and change none.`;

export const SUMMARY_OF_PAGE = `Summarise the page in the data: what it is about and what it says that matters, in two to five sentences.
${SAME_LANGUAGE} Answer with the summary alone: no heading, no introduction, nothing about these instructions.`;

export const SUMMARY_OF_PART = `${SUMMARY_OF_PAGE}\n${PART}`;

export const SUMMARY_OF_PARTS = `The data holds summaries of the parts of one page, in their order. Write one summary of the whole page from them, in two to five sentences.
${SAME_LANGUAGE} Answer with the summary alone: do not speak of parts.`;

export const ANSWER_OF_PAGE = `Answer the request from the page in the data and from nothing else: what you know otherwise does not count.
Be exact and short; name figures, names and dates as the page writes them. If the page does not tell the answer, say so in one sentence.
Answer in the language of the request.`;

/** The reply of a model that finds nothing in a part. */
export const NO_EVIDENCE = 'NONE';

export const EVIDENCE_OF_PART = `Collect what the part of a page in the data says that helps to answer the request: short notes, figures and names as they are written.
If it says nothing of use, answer with the single word ${NO_EVIDENCE}.`;

export const ANSWER_OF_EVIDENCE = `The data holds notes from the parts of one page, in their order. Answer the request from them and from nothing else.
Be exact and short. If the notes do not tell the answer, say in one sentence that the page does not say it. Answer in the language of the request, and do not speak of notes or parts.`;

export const HIGHLIGHTS_OF_PAGE = `Pick the passages of the page in the data that answer the request or speak of it best.
Copy each passage letter by letter, as one run of whole sentences, list items or table rows. Do not shorten, join, correct or translate. At most ten passages, in the order of the page; none if nothing fits.`;

export const CHANGES_OF_PAGE = `The data holds an earlier and the current version of one page, or what of them differs. Tell as JSON what changed between them, in the form and under the aspect that the request asks for.
Only real changes of content count. If nothing changed in what is asked for, answer with an empty object.`;

export const CRAWL_OF_SENTENCE = `Turn the request, which describes a crawl of a web site, into options of our crawler. The data names the address where the crawl starts. Answer with null for everything that the request does not speak of: never guess a limit.
- includePaths, excludePaths: regular expressions (RE2: no look-around, no back-references) that are searched in the path of each address, which begins with "/" and holds neither host nor query. "^/blog/" for everything below /blog/; "\\\\.pdf$" for the ending. Name paths that the request names or clearly means.
- maxDiscoveryDepth: how many links away from the start pages may be; 0 is the start page alone.
- crawlEntireDomain: true if pages that are not below the start address are wanted too.
- allowExternalLinks: true if pages of other sites are wanted. allowSubdomains: true if subdomains are.
- sitemap: "only" if just the pages of the sitemap are wanted, "skip" if the sitemap must not be used.
- ignoreQueryParameters: true if addresses that differ only in their query are one page.
- deduplicateSimilarURLs: false if alike addresses (with www, with a final slash) must be read apart.
- delay: whole seconds between two pages. limit: the most pages to read.`;
