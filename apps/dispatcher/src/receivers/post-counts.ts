import type { Metrics } from '@troupe/observability';
import type { Answer } from './receivers.js';

/** Counts the answers of webhook receivers, and measures their time. */
export function postCounts(metrics: Metrics): (answer: Answer, ms: number) => void {
  const seconds = metrics.histogram({
    name: 'troupe_webhook_post_seconds',
    help: 'Time of an exchange with the receiver of a webhook',
  });
  const posts = metrics.counter({
    name: 'troupe_webhook_posts_total',
    help: 'Posts to receivers of webhooks by class of their answer; none: there was no answer',
    labels: ['status'],
  });
  return ({ status }, ms) => {
    seconds.observe(ms / 1000);
    posts.inc({ status: status === null ? 'none' : `${Math.floor(status / 100)}xx` });
  };
}
