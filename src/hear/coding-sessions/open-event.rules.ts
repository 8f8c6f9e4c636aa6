/** An event whose records may still come. Pure. */
import {
  type CodingEvent,
  type EventBody,
  type EventFact,
  type EventKind,
  NO_USAGE,
  type Part,
  type ToolCall,
  type Usage,
} from './event.rules.ts'
import { keyOf } from './event-id.rules.ts'

const MAX_CALLS = 1_000
/** UTF-16 code units. */
const MAX_BODY_TEXT = 512 * 1024
/** Records by which a copy is known, of all events of a file. A copy of an older record is a further one. */
const MAX_RECORDS = 200_000
/** A part of a text is written again before so many others. */
const RECENT_PARTS = 50

/** Adds a value to a set of bounded size, whose oldest values go. */
export function addBounded(set: Set<string>, value: string, most: number): void {
  set.add(value)
  forgetOldest(set, most)
}

/**
 * Forgets the oldest entries where there are an eighth more than `most`. To find the oldest one takes a time that grows with the number of
 * those that were deleted before it, so many are forgotten in one go.
 */
export function forgetOldest(entries: Set<string> | Map<string, unknown>, most: number): void {
  if (entries.size <= most + most / 8) return
  for (const key of entries.keys()) {
    if (entries.size <= most) return
    entries.delete(key)
  }
}

export interface OpenEvent {
  readonly id: string
  readonly formerId: string | null
  readonly origin: string | null
  readonly position: number
  first: EventFact
  /** Those of all events of the file, each behind the position of its event. */
  readonly records: Set<string>
  /** How many records there were. */
  revision: number
  readonly inherited: boolean
  parts: Part[]
  /** The places of calls among the parts, by their ids. */
  readonly calls: Map<string, number>
  units: number
  latest: EventFact
  usage: Usage
}

/** An event that begins with the record. */
export function opened(
  first: EventFact,
  place: Pick<OpenEvent, 'id' | 'formerId' | 'origin' | 'position' | 'inherited' | 'records'>,
): OpenEvent {
  const open: OpenEvent = {
    ...place,
    first,
    latest: first,
    revision: 0,
    parts: [],
    calls: new Map(),
    units: 0,
    usage: first.usage ?? NO_USAGE,
  }
  note(open, first.record)
  replaceParts(open, first.parts)
  return open
}

/** Whether the message repeats the last one of the user, under another id. */
export function isCopyOf(fact: EventFact, last: OpenEvent | null): boolean {
  return (
    last !== null &&
    fact.kind === 'message' &&
    fact.role === 'user' &&
    fact.occurredAt !== null &&
    fact.occurredAt === last.first.occurredAt &&
    fact.identity !== last.first.identity &&
    fact.identity !== null &&
    Bun.deepEquals(fact.parts, last.first.parts)
  )
}

/** Adds a record to an open event. @returns the code units by which the event grew */
export function join(open: OpenEvent, fact: EventFact): number {
  if (!note(open, fact.record)) return 0
  open.latest = fact
  if (fact.usage !== undefined) open.usage = fact.usage
  const before = open.units
  if (fact.replaces === true) replaceParts(open, fact.parts)
  else for (const part of fact.parts) addPart(open, part)
  return open.units - before
}

/** @returns false for a record that the event has */
export function note(open: OpenEvent, record: string): boolean {
  const key = `${open.position} ${keyOf(record)}`
  if (open.records.has(key)) return false
  addBounded(open.records, key, MAX_RECORDS)
  open.revision++
  return true
}

function replaceParts(open: OpenEvent, parts: readonly Part[]): void {
  open.parts = []
  open.calls.clear()
  open.units = PART_UNITS
  for (const part of parts) append(open, part)
}

function append(open: OpenEvent, part: Part): void {
  if (part.type === 'call' && part.call.id !== undefined && !open.calls.has(part.call.id))
    open.calls.set(part.call.id, open.parts.length)
  open.parts.push(part)
  open.units += unitsOf(part)
}

function addPart(open: OpenEvent, part: Part): void {
  const { parts } = open
  const place = part.type === 'call' ? placeOfCall(open, part.call) : placeOfText(parts, part)
  const known = place === undefined ? undefined : parts[place]
  if (place === undefined || known === undefined) append(open, part)
  else {
    parts[place] = part
    open.units += unitsOf(part) - unitsOf(known)
  }
}

const placeOfCall = ({ calls }: OpenEvent, { id }: ToolCall) => (id === undefined ? undefined : calls.get(id))

/** The first of the recent parts that the text begins with: it is written again, perhaps longer. */
function placeOfText(
  parts: readonly Part[],
  { type, text }: Exclude<Part, { type: 'call' }>,
): number | undefined {
  for (let place = Math.max(0, parts.length - RECENT_PARTS); place < parts.length; place++) {
    const known = parts[place]
    if (known !== undefined && known.type !== 'call' && known.type === type && text.startsWith(known.text))
      return place
  }
  return undefined
}

/** What a part costs beside its text. */
const PART_UNITS = 200

const unitsOf = (part: Part): number =>
  PART_UNITS + (part.type === 'call' ? callUnits(part.call) : part.text.length)

function callUnits({ input, output = '' }: ToolCall): number {
  return output.length + (input === undefined ? 0 : JSON.stringify(input).length)
}

export function closed(open: OpenEvent): CodingEvent {
  const { first, latest, parts, usage } = open
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))
  const reasoning = parts.flatMap((part) => (part.type === 'reasoning' ? [part.text] : []))
  const calls = parts.flatMap((part) => (part.type === 'call' ? [part.call] : [])).slice(0, MAX_CALLS)
  const body: EventBody = {
    ...(texts.length === 0 ? {} : { text: joined(texts) }),
    ...(reasoning.length === 0 ? {} : { reasoning: joined(reasoning) }),
    ...(calls.length === 0 ? {} : { toolCalls: calls }),
    ...(first.toolCallId === undefined ? {} : { toolCallId: first.toolCallId }),
    ...(latest.isError === true ? { isError: true } : {}),
  }
  return {
    id: open.id,
    ...(open.formerId === null ? {} : { formerId: open.formerId }),
    origin: open.origin,
    position: open.position,
    revision: open.revision,
    kind: kindOf(first, body, usage),
    role: first.role,
    occurredAt: first.occurredAt,
    model: latest.model ?? first.model,
    sidechain: first.sidechain,
    inherited: open.inherited,
    body,
    toolCalls: calls.length,
    fileEdits: calls.reduce((sum, call) => sum + (call.fileEdits ?? 0), 0),
    usage,
  }
}

const joined = (texts: readonly string[]) => texts.join('\n\n').slice(0, MAX_BODY_TEXT).toWellFormed()

/** An answer without text is what it consists of. */
function kindOf({ kind, role }: EventFact, body: EventBody, usage: Usage): EventKind {
  if (kind !== 'message' || role !== 'assistant' || body.text !== undefined) return kind
  if (body.toolCalls !== undefined) return 'tool_call'
  if (body.reasoning !== undefined) return 'reasoning'
  return isNothing(usage) ? 'notice' : 'usage'
}

export const isNothing = (usage: Usage) => Object.values(usage).every((tokens) => tokens === 0)
