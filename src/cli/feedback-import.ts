/** `earshot feedback import`: its flags, progress and report. */

import { type Note, notesOf } from '../hear/feedback/import-jobs/guess.rules.ts'
import { HEAD_BYTES, readHead } from '../hear/feedback/import-jobs/head.ts'
import {
  checkHeader,
  type Mapping,
  mergeMappings,
  NO_MAPPING,
  parseColumnMap,
  parseMappingFile,
} from '../hear/feedback/row-import/mapping.rules.ts'
import type { Reader } from '../hear/feedback/row-import/reader.ts'
import { batchWriter, type Counts, importRecords } from '../hear/feedback/row-import/records.ts'
import { createJudge } from '../hear/feedback/row-import/row.rules.ts'
import type { SourceRow } from '../hear/feedback/service.ts'
import { createPeople } from '../people/service.ts'
import { type Input, type Output, UsageError } from './command.ts'
import { pairs } from './output.ts'
import { createProgress } from './progress.ts'
import { createReport, openReader, sizeOfFile, usage } from './rows-file.ts'
import type { Services } from './services.ts'

/** @throws UsageError if the flags contradict each other or the file */
export async function importFile(
  { container }: Services,
  organizationId: string,
  source: SourceRow,
  input: Input,
): Promise<Output> {
  const total = await sizeOfFile(input)
  const mapping = await usage(() => readMapping(input))
  const reader = await usage(() => openMappedReader(input, mapping))
  const notes = await (reader.header === null ? notesOf([], {}, mapping) : notesOfFile(input, mapping))
  for (const note of notes) process.stderr.write(`earshot: ${note.text} ${remedyOf(note)}\n`)
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
        progress.update({ done: bytes, total, rows })
        await report.flush()
      },
    })
    const seconds = Math.round(performance.now() - started) / 1000
    const json = {
      organizationId,
      feedbackSourceId: source.id,
      ...counts,
      seconds,
      notes: notes.map(({ text }) => text),
      refusedRows: report.first,
    }
    const lines = [
      ...report.shown(counts.refused),
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

/** Judged by the beginning of the file, before anything is stored. */
async function notesOfFile(input: Input, mapping: Mapping): Promise<readonly Note[]> {
  const file = Bun.file(input.arg('file'))
  const bytes = await file.slice(0, HEAD_BYTES).bytes()
  const head = await readHead(bytes, file.size <= HEAD_BYTES, input.flag('delimiter') ?? null)
  return notesOf(head.header, head.suggestion, mapping)
}

/** The flag that heeds a note. Columns may have a quote in their names. */
function remedyOf({ about, column }: Note): string {
  if (about !== 'content') return `--${about} names the column.`
  const map = `${column ?? 'Column'}=content`.replaceAll("'", String.raw`'\''`)
  return `--map '${map}' reads it so.`
}

async function openMappedReader(input: Input, mapping: Mapping): Promise<Reader> {
  const reader = await openReader(input)
  if (reader.header !== null) checkHeader(mapping, reader.header)
  return reader
}
