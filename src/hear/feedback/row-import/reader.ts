/**
 * Reads a file row by row: CSV (RFC 4180), or one JSON object a line.
 *
 * Memory does not grow with the file, and a bad row does not stop the reading. Text must be UTF-8. Other rows are refused
 * one by one, because a wrong character would be stored for good.
 */
import { createReadStream } from 'node:fs'
import { CsvError, parse } from 'csv-parse'
import { AppError } from '../../../platform/errors.ts'
import { encodingOf } from '../../../platform/text/encoding.rules.ts'
import { parseJson } from '../../../platform/validation/json.ts'
import { isRefusedFile, unguardCell } from '../refused-cells.rules.ts'
import { type Dialect, dialectOf, namedColumns } from './dialect.rules.ts'
import type { Row } from './row.rules.ts'

/** One row, or the reason why it is refused. */
export interface ReadRow {
  /** The line on which the row starts, from 1. */
  readonly line: number
  /** Bytes of the file up to the end of the row. */
  readonly bytes: number
  readonly content: Row | RefusedRow
}

interface RefusedRow {
  readonly refused: string
  /** The cells, as far as they could be read. */
  readonly values?: readonly string[]
}

/** Rows of a file. CSV files have a header. */
export interface Reader {
  readonly header: readonly string[] | null
  /** Of CSV. */
  readonly delimiter: string | null
  readonly rows: AsyncIterable<ReadRow>
}

/** Much larger than a record with all fields at their limits. */
const MAX_ROW_BYTES = 16 * 1024 * 1024
const READ_BYTES = 256 * 1024
/** The part of a file by which its dialect is judged. */
const MAX_HEAD_BYTES = 64 * 1024

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])

export type Chunks = AsyncIterable<Uint8Array>

/** The bytes of a file of this machine. */
export const bytesOfFile = (path: string): Chunks => createReadStream(path, { highWaterMark: READ_BYTES })

/** Without a leading byte order mark, in pieces that take a few milliseconds to parse. */
async function* chunksOf(bytes: Chunks): AsyncGenerator<Buffer> {
  let isFirst = true
  for await (const whole of bytes) {
    for (let start = 0; start < whole.byteLength; start += READ_BYTES) {
      const part = whole.subarray(start, start + READ_BYTES)
      const chunk = Buffer.from(part.buffer, part.byteOffset, part.byteLength)
      yield isFirst && chunk.subarray(0, 3).equals(BYTE_ORDER_MARK) ? chunk.subarray(3) : chunk
      isFirst = false
    }
  }
}

interface CsvRecord {
  readonly record: readonly Buffer[]
  readonly info: { readonly lines: number; readonly bytes: number }
}

/**
 * The delimiter is guessed if it is null. Columns without a name get one, and rows without a value are left out. The cells of a file of
 * refused rows are given back as they were in the first file.
 * @throws AppError 400 if the header is missing or not UTF-8
 */
export async function readCsv(bytes: Chunks, given: string | null): Promise<Reader> {
  const chunks = chunksOf(bytes)
  const start = withoutMarks(await startOf(chunks))
  if (encodingOf(start) !== 'utf-8')
    throw new AppError('validation_failed', 'The file is UTF-16: save it as UTF-8.')
  const dialect = dialectOf(new TextDecoder().decode(start.subarray(0, MAX_HEAD_BYTES)), given)
  const records = recordsOf(joined(start.subarray(dialect.skippedBytes), chunks), dialect)
  const first = await records.next()
  if (first.done === true) throw new AppError('validation_failed', 'The file is empty: it has no header.')
  const names = decodeCells(first.value.record)?.map((cell) => cell.trim())
  if (names === undefined) throw new AppError('validation_failed', 'The header is not UTF-8.')
  const isRefused = isRefusedFile(names)
  const decode = (cells: readonly Buffer[]) =>
    isRefused ? decodeCells(cells)?.map(unguardCell) : decodeCells(cells)
  const header = namedColumns(isRefused ? names.map(unguardCell) : names)
  const before = { lines: dialect.skippedBytes === 0 ? 0 : 1, bytes: dialect.skippedBytes }
  const rows = csvRows(records, header, { ...before, headerLines: first.value.info.lines }, decode)
  return { header, rows, delimiter: dialect.delimiter }
}

/** The beginning of the file: enough for the header. */
async function startOf(chunks: AsyncGenerator<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = []
  let size = 0
  while (size < MAX_HEAD_BYTES) {
    const next = await chunks.next()
    if (next.done === true) break
    // The source may use its memory again.
    parts.push(Buffer.from(next.value))
    size += next.value.byteLength
  }
  return Buffer.concat(parts)
}

/** Programs that join files write further marks, and a piece may end within one. */
function withoutMarks(start: Buffer): Buffer {
  let at = 0
  while (start.subarray(at, at + 3).equals(BYTE_ORDER_MARK)) at += 3
  return start.subarray(at)
}

async function* joined(start: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for (let at = 0; at < start.byteLength; at += READ_BYTES) yield start.subarray(at, at + READ_BYTES)
  yield* rest
}

/** All records before an error of the parser are read, so the rows of a broken file are the same each time. @throws CsvError */
async function* recordsOf(
  chunks: AsyncIterable<Buffer>,
  { delimiter, hasReturns }: Dialect,
): AsyncGenerator<CsvRecord, undefined> {
  const parser = parse({
    delimiter,
    encoding: null,
    info: true,
    max_record_size: MAX_ROW_BYTES,
    // In other files a carriage return alone belongs to its cell.
    record_delimiter: hasReturns ? ['\r\n', '\r', '\n'] : ['\r\n', '\n'],
    // Spreadsheets do not always write RFC 4180: a quote within an unquoted cell is text.
    relax_quotes: true,
    relax_column_count: true,
    skip_empty_lines: true,
  })
  // An error is thrown below, after the records that were read before it.
  parser.on('error', () => {})
  for await (const chunk of chunks) {
    parser.write(chunk)
    for (let record = parser.read(); record !== null; record = parser.read()) yield record
    if (parser.errored !== null) throw parser.errored
  }
  parser.end()
  const rest: AsyncIterable<CsvRecord> = parser
  yield* rest
}

async function* csvRows(
  records: AsyncGenerator<CsvRecord, undefined>,
  header: readonly string[],
  before: { readonly lines: number; readonly bytes: number; readonly headerLines: number },
  decode: typeof decodeCells,
): AsyncGenerator<ReadRow> {
  let [line, bytes] = [before.lines + before.headerLines + 1, 0]
  try {
    for (let next = await records.next(); next.done !== true; next = await records.next()) {
      const { record, info } = next.value
      bytes = before.bytes + info.bytes
      const cells = decode(record)
      if (!isBlankRow(cells)) yield { line, bytes, content: csvRow(header, cells) }
      line = before.lines + info.lines + 1
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    yield { line, bytes, content: { refused: 'a quote is never closed: nothing after it was read' } }
  } finally {
    await records.return(undefined)
  }
}

/** Spreadsheets write rows of delimiters below the last one. */
const isBlankRow = (cells: readonly string[] | undefined) =>
  cells?.every((cell) => cell.trim() === '') === true

function csvRow(header: readonly string[], values: readonly string[] | undefined): ReadRow['content'] {
  if (values === undefined) return { refused: 'is not UTF-8' }
  if (values.length !== header.length)
    return { refused: `has ${values.length} columns, but the header has ${header.length}`, values }
  return { columns: header, values, isText: true }
}

function decodeCells(cells: readonly Buffer[]): readonly string[] | undefined {
  try {
    return cells.map((cell) => utf8.decode(cell))
  } catch {
    return undefined
  }
}

/** Each line is a JSON object. Its members are the columns. Empty lines are skipped. */
export function readJsonLines(bytes: Chunks): Reader {
  return { header: null, delimiter: null, rows: jsonRows(bytes) }
}

async function* jsonRows(bytesOf: Chunks): AsyncGenerator<ReadRow> {
  for await (const { line, bytes, text } of linesOf(bytesOf)) {
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

async function* linesOf(bytesOf: Chunks): AsyncGenerator<Line> {
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
  for await (const chunk of chunksOf(bytesOf)) {
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
