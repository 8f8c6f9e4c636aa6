/** An event whose records may still come. Pure. */
import type { CodingEvent, EventBody, EventFact, EventKind, Part, ToolCall, Usage } from './event.rules.ts'

const MAX_CALLS = 1_000
/** UTF-16 code units. */
const MAX_BODY_TEXT = 512 * 1024

/** Adds a value to a set of bounded size, whose oldest value goes. */
export function addBounded(set: Set<string>, value: string, most: number): void {
  set.add(value)
  if (set.size > most) set.delete(set.values().next().value as string)
}

export interface OpenEvent {
  readonly id: string
  readonly formerId: string | null
  readonly origin: string | null
  readonly position: number
  first: EventFact
  readonly records: Set<string>
  readonly inherited: boolean
  parts: Part[]
  units: number
  latest: EventFact
  usage: Usage
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
    JSON.stringify(fact.parts) === JSON.stringify(last.first.parts)
  )
}

/** Adds a record to an open event. @returns the code units by which the event grew */
export function join(open: OpenEvent, fact: EventFact): number {
  if (open.records.has(fact.record)) return 0
  open.records.add(fact.record)
  open.latest = fact
  if (fact.usage !== undefined) open.usage = fact.usage
  if (fact.replaces === true) open.parts = [...fact.parts]
  else for (const part of fact.parts) addPart(open.parts, part)
  const before = open.units
  open.units = unitsOf(open.parts)
  return open.units - before
}

function addPart(parts: Part[], part: Part): void {
  const same = parts.findIndex((known) => isSamePart(known, part))
  if (same === -1) parts.push(part)
  else parts[same] = part
}

/** A part that is written again, perhaps longer. */
function isSamePart(known: Part, part: Part): boolean {
  if (known.type === 'call')
    return part.type === 'call' && known.call.id !== undefined && known.call.id === part.call.id
  return part.type === known.type && part.text.startsWith(known.text)
}

/** What a part costs beside its text. */
const PART_UNITS = 200

export function unitsOf(parts: readonly Part[]): number {
  let units = PART_UNITS
  for (const part of parts)
    units += PART_UNITS + (part.type === 'call' ? callUnits(part.call) : part.text.length)
  return units
}

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
    revision: open.records.size,
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
