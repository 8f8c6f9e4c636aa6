/** What imports of files share: the reader of rows, and the report of refused rows. */
import { bytesOfFile, type Reader, readCsv, readJsonLines } from '../hear/feedback/row-import/reader.ts'
import { AppError } from '../platform/errors.ts'
import { type Flag, type Input, UsageError } from './command.ts'

/** Refused rows on the screen. `--report` writes all of them. */
const SHOWN = 10

export const ROWS_FLAGS: Readonly<Record<'format' | 'delimiter' | 'report' | 'dry-run', Flag>> = {
  format: { value: 'csv or jsonl', summary: 'format of the file (default: by its name)' },
  delimiter: { value: 'character', summary: 'separates the cells of CSV (default: found by the header)' },
  report: { value: 'file', summary: 'write refused rows to this file, as CSV of line and reason' },
  'dry-run': { summary: 'check every row, store nothing' },
}

/** The rows of the file, in the format of `--format` or of its name. @throws UsageError; AppError 400 */
export async function openReader(input: Input): Promise<Reader> {
  const path = input.arg('file')
  const format = input.flag('format') ?? /\.(csv|jsonl|ndjson)$/i.exec(path)?.[1]?.toLowerCase()
  if (format === 'jsonl' || format === 'ndjson') return readJsonLines(bytesOfFile(path))
  if (format !== 'csv') throw new UsageError('unknown format: add --format csv or --format jsonl')
  const delimiter = input.flag('delimiter') ?? null
  if (delimiter !== null && delimiter.length !== 1) throw new UsageError('--delimiter must be one character')
  return readCsv(bytesOfFile(path), delimiter)
}

/** The size of the file in bytes. @throws UsageError if there is none */
export async function sizeOfFile(input: Input): Promise<number> {
  const file = Bun.file(input.arg('file'))
  if (!(await file.exists())) throw new UsageError(`there is no file ${input.arg('file')}`)
  return file.size
}

/** Turns refusals of flags and header into errors of usage. */
export async function usage<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof AppError ? new UsageError(error.message) : error
  }
}

interface RefusedLine {
  readonly line: number
  readonly reason: string
}

/** Keeps the first refused rows and writes all of them to `path`. */
export function createReport(path: string | undefined) {
  const first: RefusedLine[] = []
  const sink = path === undefined ? null : Bun.file(path).writer()
  sink?.write('line,reason\r\n')
  return {
    first,
    add(line: number, reason: string): void {
      if (first.length < SHOWN) first.push({ line, reason })
      sink?.write(`${line},"${reason.replaceAll('"', '""')}"\r\n`)
    },
    /** The lines for the screen, out of `refused` rows. */
    shown: (refused: number): readonly string[] => [
      ...first.map(({ line, reason }) => `line ${line}: ${reason}`),
      ...(refused > first.length ? [`… and ${refused - first.length} more`] : []),
    ],
    flush: async () => sink?.flush(),
    close: async () => sink?.end(),
  }
}
