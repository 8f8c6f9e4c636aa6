/** `earshot conversations import`: its flags, requests, progress and report. */

import { ClientError } from '../client/failures.ts'
import { createSender, type Send } from '../client/requests.ts'
import { EVENT_TYPE_PATTERN } from '../hear/agents/model.ts'
import type { AppendRequest, AppendResponse } from '../hear/agents/request-model.ts'
import type { Reader } from '../hear/feedback/row-import/reader.ts'
import {
  type ConversationImport,
  type ImportCounts,
  importConversations,
} from '../hear/importers/import-file.ts'
import {
  COLUMNS,
  type Column,
  columnOf,
  createConversationJudge,
  type RowOptions,
} from '../hear/importers/row.rules.ts'
import { type Input, Interrupted, type Output, UsageError } from './command.ts'
import { pairs } from './output.ts'
import { createProgress } from './progress.ts'
import { headerValue, serviceUrl, untilSignal } from './remote.ts'
import { createReport, openReader, sizeOfFile, usage } from './rows-file.ts'

const PATH = '/v3/rest/agent-conversations/append'

/** Codes of a refused request that the file is to blame for. Others stop the command: no other row would fare better. */
const STATUSES_OF_ROWS = new Set([400, 409, 413])

/** @throws UsageError; Interrupted; ClientError */
export async function importConversationFile(input: Input): Promise<Output> {
  const total = await sizeOfFile(input)
  const options = optionsOf(input)
  const agentKey = input.flag('agent-key') ?? input.env.EARSHOT_AGENT_KEY ?? ''
  if (agentKey === '') throw new UsageError('no application: set EARSHOT_AGENT_KEY or give --agent-key')
  const reader = await usage(() => openReader(input))
  if (reader.header !== null) {
    checkColumns(reader.header, options)
    sayLeftOut(reader.header, options)
  }
  const progress = createProgress(process.stderr, () => performance.now())
  using stop = untilSignal()
  const send = input.has('dry-run') ? null : senderOf(input, stop.signal)
  const report = createReport(input.flag('report'))
  const started = performance.now()
  try {
    const counts = await importConversations({
      rows: until(stop.signal, reader),
      judge: createConversationJudge(options),
      defaults: {
        agentKey,
        status: input.has('open') ? 'open' : 'ended',
        environment: input.flag('environment'),
      },
      send,
      async onProgress({ rows }, refused, bytes) {
        for (const { line, reason } of refused) report.add(line, reason)
        progress.update({ done: bytes, total, rows })
        await report.flush()
      },
    })
    const seconds = Math.round(performance.now() - started) / 1000
    return outputOf(agentKey, counts, seconds, report, send === null)
  } catch (error) {
    if (stop.signal.aborted) throw new Interrupted('interrupted: repeat the command to continue')
    throw error
  } finally {
    progress.end()
    await report.close()
  }
}

/** Before the import, because nobody looks for what is missing afterwards. */
function sayLeftOut(header: readonly string[], { columns }: RowOptions): void {
  const left = header.filter((name) => columns.get(name) !== null && columnOf(name, columns) === null)
  if (left.length > 0)
    process.stderr.write(`earshot: left out: ${left.map((name) => JSON.stringify(name)).join(', ')}\n`)
}

function outputOf(
  agentKey: string,
  counts: ImportCounts,
  seconds: number,
  report: ReturnType<typeof createReport>,
  isDry: boolean,
): Output {
  const { rows, imported, refused } = counts
  const shown = isDry ? { rows, refused, 'would send': imported } : counts
  return {
    json: { agentKey, dryRun: isDry, ...counts, seconds, refusedRows: report.first },
    lines: [...report.shown(refused), ...pairs({ ...shown, seconds })],
    failed: refused > 0,
  }
}

async function* until(signal: AbortSignal, { rows }: Reader): Reader['rows'] {
  for await (const row of rows) {
    signal.throwIfAborted()
    yield row
  }
}

/** @throws UsageError */
function senderOf(input: Input, signal: AbortSignal): NonNullable<ConversationImport['send']> {
  const secret = input.flag('secret') ?? input.env.EARSHOT_SECRET ?? ''
  if (secret === '')
    throw new UsageError(
      'no credential: set EARSHOT_SECRET, or create a secret with earshot agent secret-create',
    )
  const onRetry = (reason: string, waitMs: number) =>
    process.stderr.write(`earshot: ${reason}; again in ${(waitMs / 1000).toFixed(1)} s\n`)
  const credential = { agentSecret: headerValue('the secret', secret) }
  const send = createSender(serviceUrl(input), credential, { signal, onRetry })
  return (body) => append(send, body)
}

async function append(send: Send, body: AppendRequest) {
  try {
    return await send<AppendResponse>('POST', PATH, body)
  } catch (error) {
    if (!(error instanceof ClientError) || !STATUSES_OF_ROWS.has(error.status ?? 0)) throw error
    const { eventIndex, message } = error.body
    return {
      event: typeof eventIndex === 'number' ? eventIndex : null,
      reason: typeof message === 'string' ? message : error.message,
    }
  }
}

/** @throws UsageError */
function optionsOf(input: Input): RowOptions {
  const columns = new Map<string, Column | null>()
  for (const text of input.flags('map')) {
    const [name, meaning] = pairOf('--map', text, 'column=meaning')
    const column = COLUMNS.find((one) => one === meaning) ?? null
    if (column === null && meaning !== '-')
      throw new UsageError(`--map ${name} must have a meaning of ${COLUMNS.join(', ')}, or -`)
    columns.set(name, column)
  }
  const roles = new Map<string, string>()
  for (const text of input.flags('role')) {
    const [word, meaning] = pairOf('--role', text, 'word=user or word=assistant')
    roles.set(word.trim().toLowerCase(), eventType(word, meaning))
  }
  return { columns, roles }
}

const EVENT_TYPE = new RegExp(EVENT_TYPE_PATTERN)

function eventType(word: string, meaning: string): string {
  if (meaning === 'user' || meaning === 'assistant') return `${meaning}_message`
  if (EVENT_TYPE.test(meaning) && meaning !== 'feedback') return meaning
  throw new UsageError(`--role ${word} must be user, assistant or a type of events in snake_case`)
}

function pairOf(flag: string, text: string, form: string): readonly [string, string] {
  const equals = text.lastIndexOf('=')
  if (equals < 1) throw new UsageError(`${flag} must be ${form}`)
  return [text.slice(0, equals), text.slice(equals + 1)]
}

/** @throws UsageError if a column is missing that every row needs, or two columns have one meaning */
function checkColumns(header: readonly string[], { columns }: RowOptions): void {
  const missing = [...columns.keys()].find((name) => !header.includes(name))
  if (missing !== undefined)
    throw new UsageError(
      `column ${JSON.stringify(missing)} is not in the file, which has ${header.join(', ')}`,
    )
  const meanings = header.flatMap((name) => columnOf(name, columns) ?? [])
  const twice = meanings.find((one, index) => meanings.indexOf(one) !== index)
  if (twice !== undefined)
    throw new UsageError(`two columns mean ${twice}: leave one out with --map column=-`)
  const needed = (['conversation', 'role', 'content'] as const).find((one) => !meanings.includes(one))
  if (needed !== undefined)
    throw new UsageError(`no column is the ${needed}: name it with --map column=${needed}`)
}
