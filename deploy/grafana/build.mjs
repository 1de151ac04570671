/**
 * `node deploy/grafana/build.mjs`: writes the dashboards for Grafana, and copies them and the alerts into the Helm chart.
 * With `--check` nothing is written; the exit code tells whether what is there is up to date.
 */
import { readFileSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { DashboardBuilder, DatasourceVariableBuilder } from '@grafana/grafana-foundation-sdk/dashboard';
import { DataqueryBuilder } from '@grafana/grafana-foundation-sdk/prometheus';
import { PanelBuilder } from '@grafana/grafana-foundation-sdk/timeseries';
import { DASHBOARDS } from './panels.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const SOURCE = { type: 'prometheus', uid: '${datasource}' };
const HEIGHT = 8;
const WIDTH = 12;

/** @param {import('./panels.mjs').Panel} panel */
function panelOf([title, unit, queries, description = '']) {
  const panel = new PanelBuilder()
    .title(title)
    .description(description)
    .unit(unit)
    .min(0)
    .datasource(SOURCE)
    .height(HEIGHT)
    .span(WIDTH);
  for (const [index, [legend, expr]] of Object.entries(queries).entries()) {
    panel.withTarget(
      new DataqueryBuilder()
        .refId(String.fromCharCode(65 + index))
        .expr(expr)
        .legendFormat(legend)
        .datasource(SOURCE),
    );
  }
  return panel;
}

/** @param {import('./panels.mjs').Dashboard} dashboard */
function jsonOf({ uid, title, description, panels }) {
  const board = new DashboardBuilder(title)
    .uid(uid)
    .description(description)
    .tags(['troupe'])
    .refresh('30s')
    .time({ from: 'now-3h', to: 'now' })
    .timezone('browser')
    .withVariable(new DatasourceVariableBuilder('datasource').label('Data source').type('prometheus'));
  for (const panel of panels) board.withPanel(panelOf(panel));
  return `${JSON.stringify(board.build(), null, 2)}\n`;
}

/** @returns {Map<string, string>} path below the workspace -> content */
function outputs() {
  const files = new Map();
  for (const dashboard of DASHBOARDS) {
    const json = jsonOf(dashboard);
    const name = `${dashboard.uid.replace('troupe-', '')}.json`;
    files.set(`deploy/grafana/dashboards/${name}`, json);
    files.set(`helm/troupe/files/dashboards/${name}`, json);
  }
  files.set('helm/troupe/files/alerts.yaml', readFileSync(path.join(root, 'deploy/prometheus/alerts.yaml'), 'utf8'));
  return files;
}

const isCheck = process.argv.includes('--check');
for (const [file, content] of outputs()) {
  const place = path.join(root, file);
  if (isCheck) {
    const there = readFileSync(place, { encoding: 'utf8', flag: 'a+' });
    if (there === content) continue;
    process.stderr.write(`${file} is not up to date: run node deploy/grafana/build.mjs\n`);
    process.exitCode = 1;
  } else {
    mkdirSync(path.dirname(place), { recursive: true });
    writeFileSync(place, content);
    process.stdout.write(`${file}\n`);
  }
}
