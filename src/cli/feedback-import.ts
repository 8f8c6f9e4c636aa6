/** `earshot feedback import`: its flags, progress and report. */

import { bytesOfFile, type Reader, readCsv, readJsonLines } from '../feedback/import.reader.ts'
import { batchWriter, type Counts, importRecords } from '../feedback/import.ts'
import {
  checkHeader,
  type Mapping,
  mergeMappings,
  NO_MAPPING,
  parseColumnMap,
  parseMappingFile,
} from '../feedback/mapping.rules.ts'
import { createJudge } from '../feedback/row.rules.ts'
import type { SourceRow } from '../feedback/service.ts'
import { createPeople } from '../people/service.ts'
import { AppError } from '../platform/errors.ts'
import { type Input, type Output, UsageError } from './command.ts'
import { pairs } from './output.ts'
import { createProgress } from './progress.ts'
import type { Services } from './services.ts'

/** Refused rows on the screen. `--report` writes all of them. */
const SHOWN = 10

/** @throws UsageError if the flags contradict each other or the file */
export async function importFile(
  { container }: Services,
  organizationId: string,
  source: SourceRow,
  input: Input,
): Promise<Output> {
  const file = Bun.file(input.arg('file'))
  if (!(await file.exists())) throw new UsageError(`there is no file ${input.arg('file')}`)
  const mapping = await usage(() => readMapping(input))
  const reader = await usage(() => openReader(input, mapping))
  const report = createReport(input.flag('report'))
  const progress = createProgress(process.stderr, performance.now.bind(performance))
  const started = performance.now()
  const dryRun = input.has('dry-run')
  try {
    const target = { organizationId, sourceId: source.id }
    const counts = await importRecords({
      rows: reader.rows,
      judge: createJudge(mapping),
      write: dryRun
        ? async ({ records }) => records.length
        : batchWriter({ ...container, people: createPeople(container) }, target),
      async onProgress({ rows }, { refused, bytes }) {
        for (const { line, reason } of refused) report.add(line, reason)
        progress.update({ done: bytes, total: file.size, rows })
        await report.flush()
      },
    })
    const seconds = Math.round(performance.now() - started) / 1000
    const json = {
      organizationId,
      feedbackSourceId: source.id,
      ...counts,
      seconds,
      refusedRows: report.first,
    }
    const lines = [
      ...report.first.map(({ line, reason }) => `line ${line}: ${reason}`),
      ...(counts.refused > report.first.length ? [`… and ${counts.refused - report.first.length} more`] : []),
      ...pairs({ ...(dryRun ? wouldImport(counts) : counts), seconds }),
    ]
    return { json, lines, failed: counts.refused > 0 }
  } finally {
    progress.end()
    await report.close()
  }
}

/** Renames the counts of a dry run, because nothing was stored. */
function wouldImport({ imported, ...counts }: Counts) {
  return { ...counts, 'would import': imported }
}

async function readMapping(input: Input): Promise<Mapping> {
  const path = input.flag('mapping')
  const under = path === undefined ? NO_MAPPING : parseMappingFile(await readJson(path))
  return mergeMappings(under, {
    externalId: input.flag('external-id') ?? null,
    email: input.flag('email') ?? null,
    timestamp: input.flag('timestamp') ?? null,
    columns: new Map(input.flags('map').map(parseColumnMap)),
  })
}

async function readJson(path: string): Promise<unknown> {
  try {
    return await Bun.file(path).json()
  } catch {
    throw new UsageError(`${path} is not a JSON file`)
  }
}

async function openReader(input: Input, mapping: Mapping): Promise<Reader> {
  const path = input.arg('file')
  const format = input.flag('format') ?? /\.(csv|jsonl|ndjson)$/i.exec(path)?.[1]?.toLowerCase()
  if (format === 'jsonl' || format === 'ndjson') return readJsonLines(bytesOfFile(path))
  if (format !== 'csv') throw new UsageError('unknown format: add --format csv or --format jsonl')
  const delimiter = input.flag('delimiter') ?? ','
  if (delimiter.length !== 1) throw new UsageError('--delimiter must be one character')
  const reader = await readCsv(bytesOfFile(path), delimiter)
  checkHeader(mapping, reader.header ?? [])
  return reader
}

/** Turns refusals of flags and header into errors of usage. */
async function usage<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof AppError ? new UsageError(error.message) : error
  }
}

/** Keeps the first refused rows and writes all of them to `path`. */
function createReport(path: string | undefined) {
  const first: { readonly line: number; readonly reason: string }[] = []
  const sink = path === undefined ? null : Bun.file(path).writer()
  sink?.write('line,reason\r\n')
  return {
    first,
    add(line: number, reason: string): void {
      if (first.length < SHOWN) first.push({ line, reason })
      sink?.write(`${line},"${reason.replaceAll('"', '""')}"\r\n`)
    },
    flush: async () => sink?.flush(),
    close: async () => sink?.end(),
  }
}
