/**
 * Turns one row of a file into events of a conversation, or into the reason why it is refused. The limits are those of `append`.
 *
 * A row is one message. A JSON row with `events` is a whole conversation, as the body of `append`. Ids that a row does not name are
 * derived from what it says, so the same row always makes the same events.
 */

import { AppError } from '../../platform/errors.ts'
import { isNumberText } from '../../platform/validation/exact-number.rules.ts'
import { isStorableText } from '../../platform/validation/json.ts'
import { toUtc } from '../../platform/validation/rfc3339.ts'
import { canonicalJson } from '../agents/events/fingerprint.ts'
import { idsOf, withIds } from '../agents/ingest/append.rules.ts'
import { checkRequest, parseAppendRequest } from '../agents/ingest/request.rules.ts'
import { type AppendEvent, MAX_EVENTS_PER_REQUEST, type Participant } from '../agents/model.ts'
import type { AppendRequest } from '../agents/request-model.ts'
import { MOMENT_EXAMPLES, momentOf } from '../feedback/row-import/moment.rules.ts'
import type { Row } from '../feedback/row-import/row.rules.ts'

/** The columns that a row of one message may have. */
export const COLUMNS = [
  'conversation',
  'id',
  'time',
  'role',
  'content',
  'person',
  'email',
  'name',
  'rating',
  'comment',
] as const
export type Column = (typeof COLUMNS)[number]

/** Longer names are none of `COLUMNS`, also without spaces around them. */
const MAX_COLUMN = 100

/** Types of events by the words of a role column, in lower case. */
const ROLES: Readonly<Record<string, string>> = {
  user: 'user_message',
  customer: 'user_message',
  human: 'user_message',
  'end-user': 'user_message',
  user_message: 'user_message',
  assistant: 'assistant_message',
  agent: 'assistant_message',
  bot: 'assistant_message',
  ai: 'assistant_message',
  assistant_message: 'assistant_message',
}

/** Events of one row. All of them have ids. */
export interface Part {
  readonly session: string
  readonly events: readonly NamedEvent[]
  readonly participants: readonly Participant[]
  /** Other members of a request, of a row that is a conversation. */
  readonly members: Members
}

export type NamedEvent = AppendEvent & { readonly externalEventId: string }
export type Members = Pick<AppendRequest, 'status' | 'agentVersion' | 'source' | 'context'>

export interface RowOptions {
  /** Meanings of columns with other names. Null leaves a column out. */
  readonly columns: ReadonlyMap<string, Column | null>
  /** Types of events for further words of the role column, in lower case. */
  readonly roles: ReadonlyMap<string, string>
}

/** Why a row is refused. Used in this file only. */
class Refusal extends Error {}

/** @returns the events of a row, or in one line why it is refused */
export function createConversationJudge(options: RowOptions): (row: Row) => Part | string {
  return (row) => {
    try {
      return row.columns.includes('events') && !row.isText ? conversationOf(row) : messageOf(row, options)
    } catch (error) {
      if (error instanceof Refusal || error instanceof AppError) return error.message
      throw error
    }
  }
}

function conversationOf({ columns, values }: Row): Part {
  const given = Object.fromEntries(columns.map((name, index) => [name, values[index] ?? undefined]))
  const { status, agentVersion, source, context, ...request } = parseAppendRequest({
    ...given,
    agentKey: 'any',
  })
  const ids = idsOf(request.events)
  const events = request.events.map((event, index) => ({ ...event, externalEventId: ids[index] as string }))
  for (let start = 0; start < events.length; start += MAX_EVENTS_PER_REQUEST)
    check({ ...request, events: events.slice(start, start + MAX_EVENTS_PER_REQUEST) })
  return {
    session: request.externalSessionId,
    events,
    participants: request.participants ?? [],
    members: { status, agentVersion, source, context },
  }
}

/** @throws AppError 400 */
function check(request: AppendRequest): void {
  checkRequest(withIds(request), Number.POSITIVE_INFINITY, request.events)
}

type Cells = Readonly<Partial<Record<Column, unknown>>>

function messageOf(row: Row, { columns, roles }: RowOptions): Part {
  const cells = cellsOf(row, columns)
  const type = typeOf(cells.role, roles)
  const given = textOf(cells, 'time')?.trim()
  const time = given === undefined ? undefined : momentOf(given)
  const id = textOf(cells, 'id')
  if (id === undefined && time === undefined)
    throw new Refusal('has neither an id nor a time: without one of them the message is not recognised again')
  if (time === null) throw refusal('time', `must be ${MOMENT_EXAMPLES}`)
  if (cells.content === undefined) throw refusal('content', 'is required')
  const participant = participantOf(cells, type)
  const message = {
    externalEventId: id ?? derivedId(type, cells.content, time),
    type,
    content: cells.content,
    ...(time === undefined ? {} : { occurredAt: time }),
    ...(participant === null ? {} : { participantExternalId: participant.externalId }),
  }
  const request = {
    agentKey: 'any',
    externalSessionId: textOf(cells, 'conversation'),
    participants: participant === null ? [] : [participant],
    events: [message, ...feedbackOf(cells, message)],
  }
  return partOf(request)
}

function partOf(body: unknown): Part {
  try {
    const { externalSessionId, participants = [], events, ...rest } = parseAppendRequest(body)
    check({ externalSessionId, participants, events, ...rest })
    return { session: externalSessionId, events: events as readonly NamedEvent[], participants, members: {} }
  } catch (error) {
    const detail = error instanceof AppError ? error.details?.[0] : undefined
    const column = PATHS.find(([path]) => path.test(detail?.path ?? ''))?.[1]
    throw detail === undefined || column === undefined ? error : refusal(column, detail.message)
  }
}

const PATHS: readonly (readonly [RegExp, Column])[] = [
  [/^externalSessionId/, 'conversation'],
  [/^events\[\d+\]\.(?:externalEventId|feedback\.target)/, 'id'],
  [/^events\[\d+\]\.occurredAt/, 'time'],
  [/^events\[\d+\]\.content/, 'content'],
  [/^events\[\d+\]\.feedback\.rating/, 'rating'],
  [/^events\[\d+\]\.feedback/, 'comment'],
  [/^participants\[0\]\.email/, 'email'],
  [/^participants\[0\]\.displayName/, 'name'],
  [/^(?:participants\[0\]\.externalId|events\[\d+\]\.participantExternalId)/, 'person'],
]

function cellsOf({ columns, values, isText }: Row, names: RowOptions['columns']): Cells {
  const cells: Partial<Record<Column, unknown>> = {}
  for (const [index, name] of columns.entries()) {
    const column = columnOf(name, names)
    const value = values[index]
    // An empty cell has no value.
    if (column === null || value === null || value === undefined || (isText && value === '')) continue
    if (typeof value === 'string' && !isStorableText(value)) throw refusal(column, 'must not contain U+0000')
    cells[column] = value
  }
  return cells
}

/** The meaning of a column. Columns without one are left out. */
export function columnOf(name: string, names: RowOptions['columns']): Column | null {
  const named = names.get(name)
  if (named !== undefined) return named
  const word = name.length > MAX_COLUMN ? '' : name.trim().toLowerCase()
  const usual = COLUMNS.find((one) => one === word) ?? null
  // A column that was named for it takes precedence.
  return usual !== null && [...names.values()].includes(usual) ? null : usual
}

/** Numbers become text, because ids of JSON rows may be numbers. */
function textOf(cells: Cells, column: Column): string | undefined {
  const value = cells[column]
  if (typeof value === 'number' || isNumberText(value)) return String(value)
  if (value === undefined || typeof value === 'string') return value
  throw refusal(column, 'must be a text')
}

function typeOf(cell: unknown, roles: RowOptions['roles']): string {
  const word = typeof cell === 'string' ? cell.trim().toLowerCase() : ''
  const type = roles.get(word) ?? (Object.hasOwn(ROLES, word) ? ROLES[word] : undefined)
  if (type !== undefined) return type
  throw refusal('role', 'must be user or assistant; --role gives other words a meaning')
}

function participantOf(cells: Cells, type: string): Participant | null {
  const email = textOf(cells, 'email')?.trim()
  const displayName = textOf(cells, 'name')
  const externalId = textOf(cells, 'person') ?? email?.toLowerCase()
  if (externalId === undefined) {
    if (displayName === undefined) return null
    throw refusal('name', 'needs person or email beside it')
  }
  return {
    externalId,
    ...(email === undefined ? {} : { email }),
    ...(displayName === undefined ? {} : { displayName }),
    ...(type === 'assistant_message' ? { boundary: 'internal' as const } : {}),
  }
}

interface Message {
  readonly externalEventId: string
  readonly type: string
  readonly occurredAt?: string
}

function feedbackOf(cells: Cells, { externalEventId, type, occurredAt }: Message): readonly object[] {
  const rating = textOf(cells, 'rating')?.trim().toLowerCase()
  const comment = textOf(cells, 'comment')
  if (rating === undefined && comment === undefined) return []
  if (type !== 'assistant_message')
    throw refusal(rating === undefined ? 'comment' : 'rating', 'belongs to a message of the assistant')
  const feedback = {
    targetEventExternalId: externalEventId,
    ...(rating === undefined ? {} : { rating }),
    ...(comment === undefined ? {} : { comment }),
  }
  return [
    {
      externalEventId: sha256(['feedback', externalEventId]),
      type: 'feedback',
      feedback,
      ...(occurredAt === undefined ? {} : { occurredAt }),
    },
  ]
}

/** Two rows with the same role, content and time are the same message. */
function derivedId(type: string, content: unknown, time: string | undefined): string {
  return sha256([type, content, time === undefined ? null : toUtc(time)])
}

function sha256(said: readonly unknown[]): string {
  return Bun.SHA256.hash(canonicalJson(said), 'hex')
}

function refusal(column: Column, message: string): Refusal {
  return new Refusal(`column ${JSON.stringify(column)}: ${message}`)
}
