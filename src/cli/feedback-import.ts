/** `earshot feedback import`: its flags, progress and report. */

import {
  checkHeader,
  type Mapping,
  mergeMappings,
  NO_MAPPING,
  parseColumnMap,
  parseMappingFile,
} from '../feedback/row-import/mapping.rules.ts'
import type { Reader } from '../feedback/row-import/reader.ts'
import { batchWriter, type Counts, importRecords } from '../feedback/row-import/records.ts'
import { createJudge } from '../feedback/row-import/row.rules.ts'
import type { SourceRow } from '../feedback/service.ts'
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

async function openMappedReader(input: Input, mapping: Mapping): Promise<Reader> {
  const reader = await openReader(input)
  if (reader.header !== null) checkHeader(mapping, reader.header)
  return reader
}
