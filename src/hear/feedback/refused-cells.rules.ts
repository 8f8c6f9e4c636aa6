/**
 * Cells of the file of refused rows. A spreadsheet executes a cell that begins like a formula, and customers wrote the cells. So an
 * apostrophe stands before such a cell, and the import of the file removes it. Pure.
 */

/** Columns that the file of refused rows adds. Such a file can be mended and imported. */
export const ADDED_COLUMNS = ['import_line', 'import_reason'] as const

export const isRefusedFile = (header: readonly string[]): boolean =>
  ADDED_COLUMNS.every((name) => header.includes(name))

/**
 * Signs that begin a formula, also in full width, as East Asian keyboards write them, and blanks that some programs skip before one.
 * Apostrophes that stand before such a character already get another one, so that the import gives back the same cell.
 */
const FORMULA = /^'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/
const GUARDED = /^'+[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/

export const guardCell = (cell: string): string => (FORMULA.test(cell) ? `'${cell}` : cell)

export const unguardCell = (cell: string): string => (GUARDED.test(cell) ? cell.slice(1) : cell)
