/** The dependency rule (CONTRIBUTING.md): apps -> adapters -> domain -> contracts. */
const DOMAIN = 'actors|content|documents|extraction|frontier|json-schema|politeness';
const INNER = `${DOMAIN}|config|formats|observability`;
const ADAPTER = 'messaging|persistence|blob-store|chromium|conversion|egress|judging|search';
const IO = 'node_modules/(@nestjs|nats|@nats-io|typeorm|pg|crawlee|@crawlee|playwright|undici|got-scraping)';
const forbid = (name, from, to) => ({ name, severity: 'error', from, to });

module.exports = {
  forbidden: [
    forbid('no-cycles', {}, { circular: true }),
    forbid('contracts-import-nothing', { path: '^libs/contracts/' }, { path: '^(apps|libs/(?!contracts/))' }),
    forbid(
      'inner-libs-import-contracts-and-formats-only',
      { path: `^libs/(${INNER})/`, pathNot: '\\.spec\\.ts$' },
      { path: '^(apps|libs)/', pathNot: '^libs/(contracts|formats|$1)/' },
    ),
    forbid('domain-does-no-io', { path: `^libs/(${DOMAIN}|formats)/` }, { path: IO }),
    forbid(
      'adapters-do-not-meet',
      { path: `^libs/(${ADAPTER})/` },
      { path: `^libs/(${ADAPTER})/`, pathNot: '^libs/$1/' },
    ),
    forbid('libs-never-import-apps', { path: '^libs/' }, { path: '^apps/' }),
    forbid('apps-are-islands', { path: '^apps/([^/]+)/' }, { path: '^apps/', pathNot: '^apps/$1/' }),
    forbid(
      'wire-versions-stay-at-the-edge',
      { path: '^apps/', pathNot: '^apps/gateway/src/(api/|gateway\\.module)' },
      { path: '^apps/gateway/src/api/' },
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
