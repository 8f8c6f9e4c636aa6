/**
 * Imports conversations from the rows of a file, through `append`.
 *
 * The service recognises events by their ids, so an interrupted import is simply started again. Memory does not grow with the file: one
 * window of rows is read, grouped by conversation and sent, then the next. A row that the service refuses does not hold up the others.
 */
import type { ReadRow } from '../feedback/row-import/reader.ts'
import type { Row } from '../feedback/row-import/row.rules.ts'
import { type SendRequest, sendConversation } from './append-requests.ts'
import { type Defaults, type LinedPart, requestsBySession } from './requests.rules.ts'
import type { Part } from './row.rules.ts'

const WINDOW_ROWS = 2000
/** Bytes of the file that make one window. */
const WINDOW_BYTES = 4 * 1024 * 1024
/** Conversations that are sent at the same time. */
const CONCURRENT = 4

export interface ImportCounts {
  readonly rows: number
  /** Events that the service did not have. */
  readonly imported: number
  /** Events that it had. */
  readonly duplicates: number
  /** Events that it had with another content. */
  readonly revised: number
  readonly refused: number
}

interface Refused {
  readonly line: number
  readonly reason: string
}

export interface ConversationImport {
  readonly rows: AsyncIterable<ReadRow>
  readonly judge: (row: Row) => Part | string
  readonly defaults: Defaults
  /** Null: nothing is sent. */
  readonly send: SendRequest | null
  /** Called after each window. `bytes`: the part of the file that is done. */
  readonly onProgress: (counts: ImportCounts, refused: readonly Refused[], bytes: number) => unknown
}

interface Window {
  readonly parts: readonly LinedPart[]
  readonly refused: Refused[]
  readonly rows: number
  readonly bytes: number
}

/** Resolves when every row is sent or refused. @throws what `send` throws */
export async function importConversations(job: ConversationImport): Promise<ImportCounts> {
  const counts = { rows: 0, imported: 0, duplicates: 0, revised: 0, refused: 0 }
  for await (const { parts, refused, rows, bytes } of windowsOf(job)) {
    const known = new Set<number>()
    const refuse = (line: number, reason: string) => {
      if (known.size < known.add(line).size) refused.push({ line, reason })
    }
    const { send, defaults } = job
    if (send === null) counts.imported += parts.reduce((sum, { events }) => sum + events.length, 0)
    else
      await eachAtOnce(requestsBySession(parts), CONCURRENT, (requests) =>
        sendConversation({ send, defaults }, requests, counts, refuse),
      )
    counts.rows += rows
    counts.refused += refused.length
    refused.sort((a, b) => a.line - b.line)
    await job.onProgress({ ...counts }, refused, bytes)
  }
  return counts
}

async function* windowsOf({ rows, judge }: ConversationImport): AsyncGenerator<Window> {
  let [parts, refused]: [LinedPart[], Refused[]] = [[], []]
  let [bytes, begun] = [0, 0]
  for await (const row of rows) {
    const { line, content } = row
    const judged = 'refused' in content ? content.refused : judge(content)
    if (typeof judged === 'string') refused.push({ line, reason: judged })
    else parts.push({ ...judged, line })
    bytes = row.bytes
    if (parts.length + refused.length < WINDOW_ROWS && bytes - begun < WINDOW_BYTES) continue
    yield { parts, refused, rows: parts.length + refused.length, bytes }
    parts = []
    refused = []
    begun = bytes
  }
  if (parts.length + refused.length > 0) yield { parts, refused, rows: parts.length + refused.length, bytes }
}

/** Works on `count` items at a time. After a failure nothing more begins, and the failure is thrown when all work has ended. */
async function eachAtOnce<T>(
  items: readonly T[],
  count: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const rest = items.values()
  let hasFailed = false
  const worker = async () => {
    for (const item of rest) {
      if (hasFailed) return
      try {
        await work(item)
      } catch (error) {
        hasFailed = true
        throw error
      }
    }
  }
  const ends = await Promise.allSettled(Array.from({ length: count }, worker))
  for (const end of ends) if (end.status === 'rejected') throw end.reason
}
