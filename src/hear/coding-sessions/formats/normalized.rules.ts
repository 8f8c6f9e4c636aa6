/** Reads events that the sender has normalised itself, one for each line. Pure. */
import { type Cleaner, MAX_RESULT, MAX_TEXT } from '../clean.ts'
import {
  EVENT_KINDS,
  type EventFact,
  type Fact,
  type Part,
  ROLES,
  type ToolCall,
  type Usage,
} from '../event.rules.ts'
import { hashOf } from '../event-id.rules.ts'
import { fileEditsOf } from './edits.rules.ts'
import {
  listOf,
  type Members,
  membersOf,
  parseLine,
  skippedUsage,
  textOf,
  timeOf,
  tokensOf,
} from './json.rules.ts'

export function readNormalized(line: string, clean: Cleaner): readonly Fact[] {
  const members = parseLine(line)
  return members === null ? [{ fact: 'skip' }] : readNormalizedEvent(members, clean)
}

function readNormalizedEvent(members: Members, clean: Cleaner): readonly Fact[] {
  const kind = EVENT_KINDS.find((known) => known === (members.kind ?? 'message'))
  const role = ROLES.find((known) => known === (members.role ?? roleOf(kind)))
  if (kind === undefined || role === undefined) return [{ fact: 'skip' }]
  const id = textOf(members.id)
  const usage = membersOf(members.usage)
  const callId = clean.name(members.toolCallId)
  const fact: EventFact = {
    fact: 'event',
    identity: id === null ? null : `id ${id}`,
    record: hashOf(JSON.stringify(members)),
    kind,
    role,
    occurredAt: timeOf(members.occurredAt),
    model: clean.name(members.model) ?? null,
    sidechain: members.sidechain === true,
    parts: partsOf(members, kind, clean),
    replaces: true,
    ...(callId === undefined ? {} : { toolCallId: callId }),
    ...(members.isError === true ? { isError: true } : {}),
    ...(usage === null ? {} : { usage: usageOf(usage) }),
  }
  return [fact, ...skippedUsage(usage)]
}

function roleOf(kind: string | undefined): string {
  if (kind === 'tool_result') return 'tool'
  return kind === 'summary' || kind === 'notice' ? 'system' : 'assistant'
}

function partsOf(members: Members, kind: string, clean: Cleaner): readonly Part[] {
  const max = kind === 'tool_result' ? MAX_RESULT : MAX_TEXT
  const text = textOf(members.text)
  const reasoning = clean.part('reasoning', members.reasoning)
  return [
    ...(reasoning === null ? [] : [reasoning]),
    ...(text === null ? [] : [{ type: 'text', text: clean.text(text, max) } as const]),
    ...listOf(members.toolCalls).flatMap((call) => callOf(membersOf(call), clean)),
  ]
}

function callOf(members: Members | null, clean: Cleaner): readonly Part[] {
  const name = clean.name(members?.name)
  if (members === null || name === undefined) return []
  const id = clean.name(members.id)
  const fileEdits =
    members.fileEdits === undefined ? fileEditsOf(name, members.input) : tokensOf(members.fileEdits)
  const call: ToolCall = {
    ...(id === undefined ? {} : { id }),
    name,
    ...(members.input === undefined ? {} : { input: clean.json(members.input) }),
    ...(typeof members.output === 'string' ? { output: clean.text(members.output, MAX_RESULT) } : {}),
    ...(members.isError === true ? { isError: true } : {}),
    ...(fileEdits === 0 ? {} : { fileEdits: Math.min(fileEdits, 10_000) }),
  }
  return [{ type: 'call', call }]
}

function usageOf(usage: Members): Usage {
  return {
    inputTokens: tokensOf(usage.inputTokens),
    outputTokens: tokensOf(usage.outputTokens),
    cacheReadTokens: tokensOf(usage.cacheReadTokens),
    cacheWriteTokens: tokensOf(usage.cacheWriteTokens),
    reasoningTokens: tokensOf(usage.reasoningTokens),
  }
}
