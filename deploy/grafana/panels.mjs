/**
 * What the dashboards show: one entry a panel, `[title, unit, { legend: query }, description]`. `$service` and friends are no
 * variables: every query stands for the whole cluster, and tells replicas apart where that matters.
 *
 * @typedef {[title: string, unit: string, queries: Record<string, string>, description?: string]} Panel
 * @typedef {{ uid: string, title: string, description: string, panels: Panel[] }} Dashboard
 */

/** @param {string} metric @param {number} quantile @param {string} [by] */
const quantile = (metric, quantile, by = '') =>
  `histogram_quantile(${quantile}, sum by (le${by === '' ? '' : `, ${by}`}) (rate(${metric}_bucket[5m])))`;

/** @param {string} metric @param {string} [by] */
const rate = (metric, by = '') => `sum${by === '' ? '' : ` by (${by})`} (rate(${metric}[5m]))`;

/** @type {Dashboard[]} */
export const DASHBOARDS = [
  {
    uid: 'troupe-overview',
    title: 'Troupe: overview',
    description: 'Is the cluster doing what it was asked to do?',
    panels: [
      [
        'Pages by outcome',
        'ops',
        { '{{outcome}}': rate('troupe_pages_total', 'outcome') },
        'URLs of jobs by how they ended',
      ],
      ['Jobs under way', 'short', { '{{kind}}': 'sum by (kind) (troupe_jobs_running)' }],
      ['Jobs that ended', 'ops', { '{{status}}': rate('troupe_jobs_finished_total', 'status') }],
      ['Oldest job', 's', { '{{kind}}': 'max by (kind) (troupe_job_oldest_seconds)' }],
      [
        'Longest silence of a job',
        's',
        { '{{kind}}': 'max by (kind) (troupe_job_silent_seconds)' },
        'Time without a new page; paused jobs do not count',
      ],
      ['Requests by route', 'ops', { '{{method}} {{route}}': rate('troupe_http_requests_total', 'method, route') }],
      [
        'Latency of the API',
        's',
        {
          p50: quantile('troupe_http_request_seconds', 0.5),
          p95: quantile('troupe_http_request_seconds', 0.95),
          p99: quantile('troupe_http_request_seconds', 0.99),
        },
        'Without requests that wait for news of a job',
      ],
      [
        'Errors of the API',
        'ops',
        { '{{status}}': 'sum by (status) (rate(troupe_http_requests_total{status=~"4..|5.."}[5m]))' },
      ],
    ],
  },
  {
    uid: 'troupe-crawling',
    title: 'Troupe: crawling',
    description: 'What sites answer, and what becomes of it.',
    panels: [
      ['Answers by status', 'ops', { '{{status}}': rate('troupe_fetch_answers_total', 'status') }],
      ['Requests without an answer', 'ops', { '{{code}}': rate('troupe_fetch_failures_total', 'code') }],
      ['Bytes', 'Bps', { '{{engine}}': rate('troupe_fetch_bytes_total', 'engine') }],
      [
        'Time of a request by engine',
        's',
        {
          'p50 {{engine}}': quantile('troupe_fetch_seconds', 0.5, 'engine'),
          'p95 {{engine}}': quantile('troupe_fetch_seconds', 0.95, 'engine'),
          'p99 {{engine}}': quantile('troupe_fetch_seconds', 0.99, 'engine'),
        },
      ],
      ['Requests under way', 'short', { '{{engine}}': 'sum by (engine) (troupe_fetch_inflight)' }],
      [
        'Frontier',
        'short',
        { '{{state}}': 'sum by (state) (troupe_frontier_urls)', done: 'sum(increase(troupe_pages_total[1h]))' },
        'done: of the last hour',
      ],
      ['Links found', 'ops', { '{{found}}': rate('troupe_links_total', 'found') }],
      ['Cache of pages', 'ops', { '{{result}}': rate('troupe_cache_lookups_total', 'result') }],
      ['Conversions', 'ops', { '{{verdict}}': rate('troupe_convert_pages_total', 'verdict') }],
      [
        'Time of a conversion',
        's',
        { p50: quantile('troupe_convert_seconds', 0.5), p95: quantile('troupe_convert_seconds', 0.95) },
        'Waiting for a thread included',
      ],
    ],
  },
  {
    uid: 'troupe-politeness',
    title: 'Troupe: politeness',
    description: 'What hosts ask of us, and whether we keep to it.',
    panels: [
      ['Hosts', 'short', { '{{state}}': 'sum by (state) (troupe_hosts)' }],
      ['Slowest hosts', 's', { '{{host}}': 'topk(10, max by (host) (troupe_host_mean_seconds))' }],
      [
        'Waits for a turn',
        's',
        { p50: quantile('troupe_politeness_wait_seconds', 0.5), p95: quantile('troupe_politeness_wait_seconds', 0.95) },
      ],
      ['Forbidden by robots.txt', 'ops', { pages: 'sum(rate(troupe_pages_total{outcome="robots"}[5m]))' }],
      [
        '429 and 503',
        'ops',
        { '{{status}}': 'sum by (status) (rate(troupe_fetch_answers_total{status=~"429|503"}[5m]))' },
      ],
      [
        'Violations',
        'short',
        { requests: 'sum(increase(troupe_politeness_violations_total[1h]))' },
        'Requests before their time, in the last hour: must be 0',
      ],
    ],
  },
  {
    uid: 'troupe-actors',
    title: 'Troupe: actors',
    description: 'Turns, mailboxes and leases of the scheduler.',
    panels: [
      [
        'Time of a turn',
        's',
        {
          p50: quantile('troupe_turn_seconds', 0.5),
          p95: quantile('troupe_turn_seconds', 0.95),
          p99: quantile('troupe_turn_seconds', 0.99),
        },
      ],
      [
        'Actors of a turn',
        'short',
        { p50: quantile('troupe_turn_actors', 0.5), p95: quantile('troupe_turn_actors', 0.95) },
      ],
      [
        'Turns',
        'ops',
        {
          done: rate('troupe_turn_seconds_count'),
          'not committed: {{reason}}': rate('troupe_turns_failed_total', 'reason'),
        },
      ],
      [
        'Mail of partitions',
        'short',
        {
          waiting: 'sum(troupe_partition_mail{state="waiting"})',
          'largest partition': 'max(sum by (part) (troupe_partition_mail))',
          taken: 'sum(troupe_partition_mail{state="taken"})',
        },
      ],
      ['Oldest message', 's', { '{{stream}}': 'max by (stream) (troupe_stream_oldest_seconds)' }],
      ['Partitions by scheduler', 'short', { '{{instance}}': 'sum by (instance) (troupe_partitions_held)' }],
      ['Moves of leases', 'short', { '{{move}}': 'sum by (move) (increase(troupe_lease_moves_total[5m]))' }],
      [
        'Dead letters',
        'short',
        { lying: 'max(troupe_dead_letters)', 'new in an hour': 'sum(increase(troupe_dead_letters_total[1h]))' },
      ],
      ['Oldest message in the outbox', 's', { age: 'max(troupe_outbox_oldest_seconds)' }],
    ],
  },
  {
    uid: 'troupe-browsers',
    title: 'Troupe: browsers',
    description: 'Chromium behind the fetchers.',
    panels: [
      ['Browsers', 'short', { '{{instance}}': 'sum by (instance) (troupe_browsers)' }],
      ['Tabs', 'short', { '{{state}}': 'sum by (state) (troupe_browser_tabs)' }],
      ['Launches', 'short', { launches: 'sum(increase(troupe_browser_launches_total[5m]))' }],
      ['Retired', 'short', { '{{reason}}': 'sum by (reason) (increase(troupe_browser_retired_total[5m]))' }],
      ['Crashes', 'short', { crashes: 'sum(increase(troupe_browser_crashes_total[5m]))' }],
      ['Memory', 'bytes', { '{{instance}}': 'sum by (instance) (troupe_browser_memory_bytes)' }],
    ],
  },
  {
    uid: 'troupe-webhooks',
    title: 'Troupe: webhooks',
    description: 'Events on their way to receivers.',
    panels: [
      ['Attempts', 'ops', { '{{result}}': rate('troupe_webhook_attempts_total', 'result') }],
      ['Answers of receivers', 'ops', { '{{status}}': rate('troupe_webhook_posts_total', 'status') }],
      [
        'Time of a post',
        's',
        { p50: quantile('troupe_webhook_post_seconds', 0.5), p95: quantile('troupe_webhook_post_seconds', 0.95) },
      ],
      ['Open events', 'short', { events: 'sum(troupe_webhook_open_events)', jobs: 'sum(troupe_webhook_open_jobs)' }],
    ],
  },
  {
    uid: 'troupe-models',
    title: 'Troupe: language models',
    description: 'Calls of models, what they cost and how often their answers do not fit.',
    panels: [
      ['Calls', 'ops', { '{{purpose}} {{outcome}}': rate('troupe_model_calls_total', 'purpose, outcome') }],
      [
        'Time of a call',
        's',
        { p50: quantile('troupe_model_call_seconds', 0.5), p95: quantile('troupe_model_call_seconds', 0.95) },
      ],
      ['Tokens', 'ops', { '{{kind}}': rate('troupe_model_tokens_total', 'kind') }],
      ['Credits', 'ops', { credits: 'sum(rate(troupe_model_tokens_total[5m])) / 15' }, '15 tokens are a credit'],
      ['Answers that had to be repaired', 'ops', { '{{rung}}': rate('troupe_model_repairs_total', 'rung') }],
    ],
  },
  {
    uid: 'troupe-infrastructure',
    title: 'Troupe: infrastructure',
    description: 'What the services stand on.',
    panels: [
      ['Streams', 'short', { '{{stream}}': 'max by (stream) (troupe_stream_messages)' }],
      ['Bytes of streams', 'bytes', { '{{stream}}': 'max by (stream) (troupe_stream_bytes)' }],
      [
        'Work that waits',
        'short',
        { '{{class}} {{priority}}': 'max by (class, priority) (troupe_work_queue{state="waiting"})' },
      ],
      [
        'Connections to Postgres',
        'short',
        {
          '{{service}} {{state}}': 'sum by (service, state) (troupe_postgres_connections)',
          'waiting: {{service}}': 'sum by (service) (troupe_postgres_waiting)',
        },
      ],
      ['Connected to NATS', 'short', { '{{service}}': 'min by (service) (troupe_nats_up)' }],
      ['Messages', 'ops', { '{{service}} {{direction}}': rate('troupe_nats_messages_total', 'service, direction') }],
      ['Lag of event loops', 's', { '{{service}}': 'max by (service) (nodejs_eventloop_lag_p99_seconds)' }],
      ['Memory', 'bytes', { '{{service}}': 'max by (service) (process_resident_memory_bytes)' }],
      ['CPU', 'percentunit', { '{{service}}': rate('process_cpu_seconds_total', 'service') }],
      ['Free disk', 'percentunit', { free: 'min(troupe_disk_free_bytes / (troupe_disk_size_bytes > 0))' }],
    ],
  },
];
