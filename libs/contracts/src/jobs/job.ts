export type JobStatus = 'scraping' | 'completed' | 'failed' | 'cancelled';
export type JobKind = 'crawl' | 'batch' | 'extract' | 'agent';
/** Jobs that fetch pages of their own. */
export type PageJobKind = 'crawl' | 'batch';
