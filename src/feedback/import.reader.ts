/**
 * Reads a file row by row: CSV (RFC 4180), or one JSON object a line.
 *
 * Memory does not grow with the file, and a bad row does not stop the reading. Text must be UTF-8. Other rows are refused
 * one by one, because a wrong character would be stored for good.
 */
import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import { CsvError, parse } from 'csv-parse'
import { AppError } from '../platform/errors.ts'
import { parseJson } from '../platform/validation/json.ts'
import type { Row } from './row.rules.ts'

/** One row, or the reason why it is refused. */
export interface ReadRow {
  /** The line on which the row starts, from 1. */
  readonly line: number
  /** Bytes of the file up to the end of the row. */
  readonly bytes: number
  readonly content: Row | { readonly refused: string }
}

/** Rows of a file. CSV files have a header. */
export interface Reader {
  readonly header: readonly string[] | null
  readonly rows: AsyncIterable<ReadRow>
}

/** Much larger than a record with all fields at their limits. */
const MAX_ROW_BYTES = 16 * 1024 * 1024
const READ_BYTES = 256 * 1024

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])

/** The bytes of a file, without a leading byte order mark. */
async function* chunksOf(path: string): AsyncGenerator<Buffer> {
  const file: AsyncIterable<Buffer> = createReadStream(path, { highWaterMark: READ_BYTES })
  let isFirst = true
  for await (const chunk of file) {
    yield isFirst && chunk.subarray(0, 3).equals(BYTE_ORDER_MARK) ? chunk.subarray(3) : chunk
    isFirst = false
  }
}

interface CsvRecord {
  readonly record: readonly Buffer[]
  readonly info: { readonly lines: number; readonly bytes: number }
}

/** @throws AppError 400 if the header is missing or not UTF-8 */
export async function readCsv(path: string, delimiter: string): Promise<Reader> {
  const parser = parse({
    delimiter,
    encoding: null,
    info: true,
    max_record_size: MAX_ROW_BYTES,
    record_delimiter: ['\r\n', '\n'],
    // Spreadsheets do not always write RFC 4180: a quote within an unquoted cell is text.
    relax_quotes: true,
    relax_column_count: true,
    skip_empty_lines: true,
  })
  const file = Readable.from(chunksOf(path), { objectMode: false })
  file.on('error', (error) => parser.destroy(error))
  const records: AsyncIterator<CsvRecord> = file.pipe(parser)[Symbol.asyncIterator]()
  const first = await records.next()
  if (first.done === true) throw new AppError('validation_failed', 'The file is empty: it has no header.')
  const header = decodeCells(first.value.record)?.map((cell) => cell.trim())
  if (header === undefined) throw new AppError('validation_failed', 'The header is not UTF-8.')
  return { header, rows: csvRows(records, header, first.value.info.lines) }
}

async function* csvRows(
  records: AsyncIterator<CsvRecord>,
  header: readonly string[],
  headerLines: number,
): AsyncGenerator<ReadRow> {
  let [line, bytes] = [headerLines + 1, 0]
  try {
    for (let next = await records.next(); next.done !== true; next = await records.next()) {
      const { record, info } = next.value
      bytes = info.bytes
      yield { line, bytes, content: csvRow(header, record) }
      line = info.lines + 1
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    yield { line, bytes, content: { refused: 'a quote is never closed: nothing after it was read' } }
  } finally {
    await records.return?.()
  }
}

function csvRow(header: readonly string[], record: readonly Buffer[]): ReadRow['content'] {
  if (record.length !== header.length)
    return { refused: `has ${record.length} columns, but the header has ${header.length}` }
  const values = decodeCells(record)
  return values === undefined ? { refused: 'is not UTF-8' } : { columns: header, values, isText: true }
}

function decodeCells(cells: readonly Buffer[]): string[] | undefined {
  try {
    return cells.map((cell) => utf8.decode(cell))
  } catch {
    return undefined
  }
}

/** Each line is a JSON object. Its members are the columns. Empty lines are skipped. */
export function readJsonLines(path: string): Reader {
  return { header: null, rows: jsonRows(path) }
}

async function* jsonRows(path: string): AsyncGenerator<ReadRow> {
  for await (const { line, bytes, text } of linesOf(path)) {
    if (text === null) yield { line, bytes, content: { refused: `has more than ${MAX_ROW_BYTES} bytes` } }
    else if (!isBlank(text)) yield { line, bytes, content: jsonRow(text) }
  }
}

/** Spaces, tabs and the `\r` of a line that ends with `\r\n`. */
const isBlank = (text: Uint8Array) => text.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d)

function jsonRow(text: Uint8Array): ReadRow['content'] {
  try {
    const value = parseJson(text)
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return { refused: 'is not a JSON object' }
    return { columns: Object.keys(value), values: Object.values(value), isText: false }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return { refused: error.code === 'malformed_json' ? 'is not JSON in UTF-8' : error.message }
  }
}

interface Line {
  readonly line: number
  readonly bytes: number
  /** Null if the line is too long. */
  readonly text: Uint8Array | null
}

const NEWLINE = 0x0a

async function* linesOf(path: string): AsyncGenerator<Line> {
  let [line, bytes, size] = [1, 0, 0]
  let parts: Buffer[] = []
  const finish = (): Line => {
    const whole = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)
    return { line, bytes, text: size > MAX_ROW_BYTES ? null : whole }
  }
  const append = (part: Buffer) => {
    size += part.byteLength
    if (size > MAX_ROW_BYTES) parts = []
    else parts.push(part)
  }
  for await (const chunk of chunksOf(path)) {
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      append(chunk.subarray(start, end))
      bytes += end + 1 - start
      yield finish()
      line++
      start = end + 1
      parts = []
      size = 0
    }
    bytes += chunk.byteLength - start
    append(chunk.subarray(start))
  }
  if (size > 0) yield finish()
}
