/** Writes refused rows as CSV (RFC 4180), with the line and the reason before the columns of the file. Pure. */
import { ADDED_COLUMNS, guardCell } from '../refused-cells.rules.ts'

export interface Refusal {
  readonly line: number
  readonly reason: string
  readonly cells: readonly string[] | null
}

export const refusedHeader = (header: readonly string[]): string => lineOf([...ADDED_COLUMNS, ...header])

export const refusedLine = ({ line, reason, cells }: Refusal): string =>
  lineOf([String(line), reason, ...(cells ?? [])])

const lineOf = (cells: readonly string[]) => `${cells.map(cellOf).join(',')}\r\n`

function cellOf(text: string): string {
  const cell = guardCell(text)
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}
