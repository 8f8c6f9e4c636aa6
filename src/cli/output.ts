/** Text for people: pairs and tables with aligned columns. */
import { joinLines } from '../platform/validation/trim.ts'

type Cell = string | number | boolean | Date | null

function text(cell: Cell): string {
  if (cell === null) return '-'
  // Each cell stays on one line, even a long error message.
  return cell instanceof Date ? cell.toISOString() : joinLines(String(cell))
}

/** One line for each pair. */
export function pairs(values: Readonly<Record<string, Cell>>): readonly string[] {
  return align(Object.entries(values).map(([name, value]) => [name, text(value)]))
}

/** A header and one line for each row, or `none` if there are no rows. */
export function table<T>(
  rows: readonly T[],
  columns: Readonly<Record<string, (row: T) => Cell>>,
  none: string,
): readonly string[] {
  if (rows.length === 0) return [none]
  const header = Object.keys(columns).map((name) => name.toUpperCase())
  return align([header, ...rows.map((row) => Object.values(columns).map((column) => text(column(row))))])
}

/** Pads every column but the last to its widest cell. */
export function align(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows.map((row) =>
    row
      .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
      .join('  '),
  )
}
