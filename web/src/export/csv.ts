/** Tables as RFC 4180 says, so that a spreadsheet and pandas read them alike. */

export type Cell = string | number | null;

export function csv(header: readonly string[], rows: Iterable<readonly Cell[]>): string {
  const lines = [header.map(quoted).join(",")];
  for (const row of rows) lines.push(row.map(quoted).join(","));
  return `${lines.join("\r\n")}\r\n`;
}

function quoted(cell: Cell): string {
  if (cell === null) return "";
  if (typeof cell === "number") return Number.isFinite(cell) ? String(Number(cell.toPrecision(7))) : "";
  return /[",\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}
