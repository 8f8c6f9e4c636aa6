/** Reads the head of a CSV file: the delimiter, the header and the first rows, from a bounded part of the file. */
import { AppError } from '../../../platform/errors.ts'
import { isStorableText } from '../../../platform/validation/json.ts'
import type { MappingFile } from '../row-import/mapping.rules.ts'
import { type Chunks, type ReadRow, readCsv } from '../row-import/reader.ts'
import { guessMapping } from './guess.rules.ts'

/** Bytes of the file that are read. */
export const HEAD_BYTES = 1024 * 1024
const SAMPLE_ROWS = 20
/** Characters, and so many for each cell: judging the first rows then takes a few milliseconds at most. */
const SAMPLE_UNITS = 64 * 1024
const CELL_UNITS = 32
const MAX_COLUMNS = 1_000
const MAX_HEADER_UNITS = 64 * 1024

/** A row as text, or why it cannot be read. */
export interface SampleRow {
  readonly line: number
  readonly values: readonly string[] | null
  readonly refused: string | null
}

export interface Head {
  readonly delimiter: string
  readonly header: readonly string[]
  readonly sample: readonly SampleRow[]
  readonly suggestion: MappingFile
}

/** @param isWhole whether `bytes` are the whole file @throws AppError 400 if there is no usable header */
export async function readHead(bytes: Uint8Array, isWhole: boolean, given: string | null): Promise<Head> {
  const { header, rows, delimiter } = await readCsv(once(bytes), given)
  const columns = header ?? []
  if (columns.length > MAX_COLUMNS || columns.join('').length > MAX_HEADER_UNITS)
    throw new AppError(
      'validation_failed',
      `The header has more than ${MAX_COLUMNS} columns, or is too long.`,
    )
  if (!columns.every(isStorableText)) throw new AppError('validation_failed', 'The header contains U+0000.')
  const sample = await sampleOf(rows, isWhole)
  const readable = sample.flatMap(({ values }) => (values?.length === columns.length ? [values] : []))
  return { delimiter: delimiter ?? ',', header: columns, sample, suggestion: guessMapping(columns, readable) }
}

async function* once(bytes: Uint8Array): Chunks {
  yield bytes
}

/** The last row of a part of the file is incomplete, so it is left out. */
async function sampleOf(rows: AsyncIterable<ReadRow>, isWhole: boolean): Promise<readonly SampleRow[]> {
  const sample: SampleRow[] = []
  let units = 0
  let held: SampleRow | null = null
  for await (const { line, content } of rows) {
    if (held !== null) sample.push(held)
    held = null
    const values = (content.values ?? null) as readonly string[] | null
    units += (values?.join('').length ?? 0) + CELL_UNITS * (values?.length ?? 0)
    if (sample.length >= SAMPLE_ROWS || units > SAMPLE_UNITS) return sample
    const isStorable = values?.every(isStorableText) ?? true
    const refused = 'refused' in content ? content.refused : isStorable ? null : 'must not contain U+0000'
    held = { line, values: isStorable ? values : null, refused }
  }
  return held !== null && isWhole ? [...sample, held] : sample
}
