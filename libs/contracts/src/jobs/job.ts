export type JobStatus = 'scraping' | 'completed' | 'failed' | 'cancelled';
export type JobKind = 'crawl' | 'batch';
