/** The dependency rule (CONTRIBUTING.md): apps -> adapters -> domain -> contracts. */
const DOMAIN =
  'actors|branding|content|documents|extraction|frontier|html|json-schema|main-content|packing|pdf|politeness';
const INNER = `${DOMAIN}|config|formats|observability`;
const ADAPTER = 'messaging|persistence|blob-store|chromium|conversion|egress|judging|search';
/** What inner libs may import beside contracts. */
const BENEATH = { 'main-content': 'html', content: 'html|main-content', pdf: 'html', documents: 'html|pdf' };
const IO = 'node_modules/(@nestjs|nats|@nats-io|typeorm|pg|crawlee|@crawlee|playwright|undici|got-scraping)';
const OPENING = 'child_process|dgram|dns|fs|http|http2|https|net|tls|worker_threads';
/** Files of apps that suites of test/ try on real servers. */
const DOORS_OF_APPS =
  '^apps/(doctor/src/(doctor|finding)|extractor/src/models/.+|scheduler/src/(crawl/batch\\.actor|housekeeping/\\w+-rounds))\\.ts$';
/** What puts an app together. */
const ROOT_OF_APP = '^apps/[^/]+/src/(main|start|[^/]+\\.module)\\.ts$';
const forbid = (name, from, to) => ({ name, severity: 'error', from, to });

module.exports = {
  forbidden: [
    forbid('no-cycles', {}, { circular: true }),
    forbid('contracts-import-nothing', { path: '^libs/contracts/' }, { path: '^(apps|libs/(?!contracts/))' }),
    ...INNER.split('|').map((lib) =>
      forbid(
        `what-${lib}-may-import`,
        { path: `^libs/${lib}/`, pathNot: '\\.spec\\.ts$' },
        {
          path: '^(apps|libs)/',
          pathNot: `^libs/(${['contracts', 'formats', lib, BENEATH[lib]].filter(Boolean).join('|')})/`,
        },
      ),
    ),
    forbid('domain-does-no-io', { path: `^libs/(${DOMAIN}|formats)/` }, { path: IO }),
    forbid(
      'domain-opens-nothing',
      { path: `^libs/(${DOMAIN}|contracts)/src/`, pathNot: '\\.(spec|fixture)\\.ts$' },
      { dependencyTypes: ['core'], path: `^(node:)?(${OPENING})(/|$)` },
    ),
    forbid(
      'adapters-do-not-meet',
      { path: `^libs/(${ADAPTER})/` },
      { path: `^libs/(${ADAPTER})/`, pathNot: '^libs/$1/' },
    ),
    forbid('service-is-for-apps', { path: '^libs/(?!service/)' }, { path: '^libs/service/' }),
    // Data sources load it when one is made: other processes do without (docs/adr/0057).
    forbid(
      'only-types-of-typeorm-are-imported',
      { path: '^(apps|libs)/', pathNot: '^libs/persistence/src/data-source\\.ts$' },
      { path: 'node_modules/typeorm', dependencyTypesNot: ['type-only'] },
    ),
    forbid(
      'nobody-imports-what-puts-an-app-together',
      // What describes the API is made from the whole gateway.
      { pathNot: [ROOT_OF_APP, '\\.spec\\.ts$', '^apps/gateway/src/api/openapi/'] },
      { path: ROOT_OF_APP },
    ),
    forbid(
      'tests-enter-libs-by-their-front-door',
      { path: '^test/' },
      { path: '^libs/[^/]+/src/(?!index\\.ts$)', pathNot: '\\.(fixture|conformance)\\.ts$' },
    ),
    forbid(
      'tests-enter-apps-by-their-fixtures',
      // Simulations play the actors themselves.
      { path: '^test/', pathNot: '^test/simulation/' },
      { path: '^apps/', pathNot: ['\\.fixture\\.ts$', DOORS_OF_APPS] },
    ),
    forbid('libs-never-import-apps', { path: '^libs/' }, { path: '^apps/' }),
    forbid('apps-are-islands', { path: '^apps/([^/]+)/' }, { path: '^apps/', pathNot: '^apps/$1/' }),
    forbid(
      'wire-versions-stay-at-the-edge',
      { path: '^apps/', pathNot: '^apps/gateway/src/(api/|gateway\\.module)' },
      { path: '^apps/gateway/src/api/' },
    ),
    forbid(
      'only-specs-import-testing',
      { path: '^(apps|libs)/', pathNot: '^libs/testing/|\\.(spec|fixture)\\.ts$' },
      { path: '^libs/testing/' },
    ),
    forbid(
      'libs-by-their-front-door',
      { path: '^(apps|libs)/([^/]+)/' },
      { path: '^libs/[^/]+/src/(?!index\\.ts$)', pathNot: '^$1/$2/' },
    ),
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
  },
};
