/** Cells of a table as HTML, however they were found. */
export interface GridCell {
  html: string;
  colspan: number;
  rowspan: number;
  isBold: boolean;
}

/** @param headRows how many rows name the columns; null: the first one if all of it is bold */
export function gridHtml(rows: readonly (readonly GridCell[])[], headRows: number | null): string {
  const [first] = rows;
  const isBoldHead = first !== undefined && rows.length > 1 && first.every(({ isBold, html }) => isBold || html === '');
  const heads = headRows ?? (isBoldHead && first.some(({ html }) => html !== '') ? 1 : 0);
  const lines = rows.map((cells, i) => {
    const tag = i < heads ? 'th' : 'td';
    return `<tr>${cells.map((cell) => cellHtml(cell, tag)).join('')}</tr>`;
  });
  return `<table>${lines.join('\n')}</table>`;
}

function cellHtml({ html, colspan, rowspan }: GridCell, tag: string): string {
  const across = colspan > 1 ? ` colspan="${colspan}"` : '';
  const down = rowspan > 1 ? ` rowspan="${rowspan}"` : '';
  return `<${tag}${across}${down}>${html}</${tag}>`;
}
