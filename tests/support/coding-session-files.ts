/** Reads session files as the service does, without a database. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { CodingEvent, Format } from '../../src/hear/coding-sessions/event.rules.ts'
import { type Merged, Merger } from '../../src/hear/coding-sessions/merge.rules.ts'
import { createReadWork } from '../../src/hear/coding-sessions/read.ts'
import { type FileRecord, RecordSplitter } from '../../src/hear/coding-sessions/records.rules.ts'
import { DEFAULT_SECRETS } from '../../src/hear/coding-sessions/secrets.rules.ts'

const readWork = createReadWork()

export const fixture = (name: string): string =>
  readFileSync(resolve(import.meta.dir, '../fixtures/coding-sessions', name), 'utf8')

export interface Reading {
  readonly merger: Merger
  readonly merged: readonly Merged[]
}

/** Reads a file that comes in these pieces. */
export function readPieces(format: Format, pieces: Iterable<Uint8Array>): Reading {
  const merger = new Merger({ format })
  const merged: Merged[] = []
  const splitter = new RecordSplitter()
  const take = (records: FileRecord[]) => {
    const input = { format, lines: records.splice(0), rules: DEFAULT_SECRETS }
    for (const fact of readWork.lines.run(input, () => {})) merger.take(fact, merged)
  }
  const records: FileRecord[] = []
  for (const piece of pieces) {
    splitter.push(piece, records)
    take(records)
  }
  splitter.end(records)
  take(records)
  merger.end(merged)
  return { merger, merged }
}

export const readText = (format: Format, text: string): Reading =>
  readPieces(format, [new TextEncoder().encode(text)])

export interface StoredEvent extends CodingEvent {
  readonly undone: boolean
}

/** What the store does with uploads of one session, one after the other. */
export function stored(...uploads: readonly (readonly Merged[])[]): readonly StoredEvent[] {
  const rows = new Map<string, StoredEvent>()
  for (const item of uploads.flat()) {
    if (item.type === 'event') {
      const known = rows.get(item.event.id)
      if (known === undefined) rows.set(item.event.id, { ...item.event, undone: false })
      else if (known.revision < item.event.revision)
        rows.set(known.id, { ...item.event, position: known.position, undone: known.undone })
      continue
    }
    const from = rows.get(item.fromId)?.position ?? 0
    for (const row of rows.values())
      if (row.position >= from && row.position < item.before) rows.set(row.id, { ...row, undone: true })
  }
  return [...rows.values()].sort((a, b) => a.position - b.position)
}
