/**
 * Reads lines of Claude Code (`<sessionId>.jsonl`, and `agent-*.jsonl` of its sub-agents). Pure.
 *
 * One answer of the model is written as one line for each block of content, all with the same `message.id`. A fork copies
 * lines with their `uuid` and `message.id` and a new `sessionId`. So the event's identity is `message.id` or `uuid`, never
 * the line. Models and relays make the ids of answers and calls, and may use one again (`occurrences.rules.ts`).
 */
import { type Cleaner, MAX_RESULT, MAX_TEXT } from '../clean.ts'
import type { EventFact, Fact, Part, Repeats, Role, ToolCall, Usage } from '../event.rules.ts'
import { hashOf } from '../event-id.rules.ts'
import { fileEditsOf } from './edits.rules.ts'
import {
  listOf,
  type Members,
  membersOf,
  parseLine,
  scalarMember,
  skippedUsage,
  textOf,
  timeOf,
  tokensOf,
} from './json.rules.ts'

/** Lines of these types carry nothing of the conversation. */
const SILENT: ReadonlySet<string> = new Set([
  'agent-name',
  'agent-setting',
  'bridge-session',
  'continued-in',
  'file-history-snapshot',
  'last-prompt',
  'mode',
  'permission-mode',
  'pr-link',
  'progress',
  'summary',
  'worktree-state',
])

/** Longer lines are parsed only if their type is not silent. `progress` lines contain whole messages. */
const LONG_LINE = 16 * 1024

/** The only attachment that is said by the user. Long lines are searched for its name before they are parsed. */
const QUEUED = 'queued_command'

/** Texts of the user's turn that the program writes. */
const INJECTED =
  /^\s*(?:<(?:command-(?:name|message|args)|local-command-(?:stdout|stderr|caveat)|bash-(?:input|stdout|stderr)|system-reminder|task-notification|user-prompt-submit-hook)>|Caveat: The messages below|\[Request interrupted by user)/

export function readClaudeCode(line: string, clean: Cleaner): readonly Fact[] {
  if (line.length > LONG_LINE && SILENT.has(scalarMember(line, 'type') ?? '')) return []
  if (line.length > LONG_LINE && scalarMember(line, 'type') === 'attachment' && !line.includes(QUEUED))
    return []
  const members = parseLine(line)
  if (members === null) return [{ fact: 'skip' }]
  const type = textOf(members.type) ?? ''
  const title = textOf(type === 'custom-title' ? members.customTitle : members.aiTitle)
  if (type === 'custom-title' || type === 'ai-title')
    return title === null ? [] : [{ fact: 'session', session: { title: clean.text(title, 255) } }]
  if (SILENT.has(type)) return []
  if (type === 'user') return withSession(members, clean, readUser(members, clean))
  if (type === 'assistant') return withSession(members, clean, readAssistant(members, clean))
  if (type === 'system') return withSession(members, clean, readSystem(members, clean))
  if (type === 'attachment') return withSession(members, clean, readAttachment(members, clean))
  if (type === 'queue-operation') return withSession(members, clean, readQueue(members, clean))
  return [{ fact: 'skip' }]
}

function withSession(members: Members, clean: Cleaner, facts: readonly Fact[]): readonly Fact[] {
  const externalSessionId = clean.name(members.sessionId)
  const branch = clean.name(members.gitBranch)
  if (externalSessionId === undefined) return facts
  const session = { externalSessionId, ...(branch === undefined ? {} : { branch }) }
  return [{ fact: 'session', session }, ...facts]
}

/** What all events of a line have in common. */
function frame(members: Members, role: Role) {
  return {
    fact: 'event',
    role,
    record: textOf(members.uuid) ?? hashOf(JSON.stringify(members.message ?? members.content ?? null)),
    occurredAt: timeOf(members.timestamp),
    sidechain: members.isSidechain === true,
    chain: textOf(members.agentId) ?? String(members.isSidechain === true),
    model: null,
  } as const
}

function readUser(members: Members, clean: Cleaner): readonly Fact[] {
  const message = membersOf(members.message)
  if (message === null) return [{ fact: 'skip' }]
  const common = frame(members, 'user')
  const blocks = blocksOf(message.content)
  const results = blocks.flatMap((block) =>
    block?.type === 'tool_result' ? [readResult(common, block, clean)] : [],
  )
  const said = saidOf(common, members, blocks, clean)
  return said === null ? results : [...results, said]
}

/** What the user wrote, or the program in the user's place. null: nothing. */
function saidOf(
  common: ReturnType<typeof frame>,
  members: Members,
  blocks: readonly (Members | null)[],
  clean: Cleaner,
): EventFact | null {
  const texts = blocks.map((block) => textOfBlock(block)).filter((text) => text !== null)
  const parts = texts.map((text) => clean.part('text', text)).filter((part) => part !== null)
  if (parts.length === 0) return null
  const isInjected =
    members.isMeta === true ||
    members.isVisibleInTranscriptOnly === true ||
    texts.every((text) => INJECTED.test(text))
  const kind = members.isCompactSummary === true ? 'summary' : isInjected ? 'notice' : 'message'
  const role = kind === 'message' ? 'user' : 'system'
  return { ...common, role, kind, identity: identityOf(members), parts }
}

const blocksOf = (content: unknown): readonly (Members | null)[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : listOf(content).map(membersOf)

/** A prompt that was typed while the agent worked, when the agent takes it. */
function readAttachment(members: Members, clean: Cleaner): readonly Fact[] {
  const attachment = membersOf(members.attachment)
  if (attachment?.type !== QUEUED) return []
  const common = { ...frame(members, 'user'), ...recordOf(members, attachment.prompt) }
  const said = saidOf(common, members, blocksOf(attachment.prompt), clean)
  return said === null ? [{ fact: 'skip' }] : [said]
}

/** The prompts that wait: typed, taken by the agent, or taken back by the user. These lines have no `uuid`. */
function readQueue(members: Members, clean: Cleaner): readonly Fact[] {
  const { operation, content } = members
  const text = typeof content === 'string' ? clean.text(content, MAX_TEXT).trim() : null
  if (operation === 'dequeue' || operation === 'remove') return [{ fact: 'dequeued', text }]
  if (operation === 'popAll') return [{ fact: 'withdrawn', text }]
  const said = saidOf(frame(members, 'user'), members, blocksOf(content), clean)
  if (operation !== 'enqueue' || said === null) return []
  const record = hashOf('queued', JSON.stringify(content))
  const identity = said.occurredAt === null ? null : `queued ${said.occurredAt} ${record}`
  return [{ fact: 'queued', event: { ...said, record, identity } }]
}

const recordOf = (members: Members, content: unknown) =>
  textOf(members.uuid) === null ? { record: hashOf(JSON.stringify(content ?? null)) } : {}

/** Images and documents are named, not stored. */
function textOfBlock(block: Members | null): string | null {
  if (block?.type === 'text') return textOf(block.text)
  return block?.type === 'image' || block?.type === 'document' ? `[${block.type}]` : null
}

function identityOf(members: Members): string | null {
  const uuid = textOf(members.uuid)
  return uuid === null ? null : `uuid ${uuid}`
}

function readResult(common: ReturnType<typeof frame>, block: Members, clean: Cleaner): EventFact {
  const callId = clean.name(block.tool_use_id)
  const { content } = block
  const text =
    typeof content === 'string'
      ? content
      : listOf(content)
          .map((item) => textOfBlock(membersOf(item)) ?? '')
          .join('\n')
  const parts: Part[] = text.trim() === '' ? [] : [{ type: 'text', text: clean.text(text, MAX_RESULT) }]
  return {
    ...common,
    role: 'tool',
    kind: 'tool_result',
    identity: callId === undefined ? null : `result ${callId}`,
    parts,
    ...(callId === undefined
      ? {}
      : {
          toolCallId: callId,
          repeats: { type: 'result', callId, content: hashOf(JSON.stringify(content ?? null)) },
        }),
    ...(block.is_error === true ? { isError: true } : {}),
  }
}

function readAssistant(members: Members, clean: Cleaner): readonly Fact[] {
  const message = membersOf(members.message)
  if (message === null) return [{ fact: 'skip' }]
  const isNotice = message.model === '<synthetic>' || members.isApiErrorMessage === true
  const parts = listOf(message.content).flatMap((block) => partOf(membersOf(block), clean))
  const id = textOf(message.id)
  const fact: EventFact = {
    ...frame(members, isNotice ? 'system' : 'assistant'),
    kind: isNotice ? 'notice' : 'message',
    identity: id === null || isNotice ? identityOf(members) : `message ${id}`,
    model: isNotice ? null : (clean.name(message.model) ?? null),
    parts,
    ...(id === null || isNotice ? {} : { repeats: repeatsOf(members, message) }),
  }
  const usage = membersOf(message.usage)
  if (usage === null || isNotice) return [fact]
  return [{ ...fact, usage: usageOf(usage) }, ...skippedUsage(usage, usage.output_tokens_details)]
}

function repeatsOf(members: Members, message: Members): Repeats {
  const parent = textOf(members.parentUuid)
  return {
    type: 'answer',
    parent,
    request: textOf(members.requestId),
    isStopped: textOf(message.stop_reason) !== null,
  }
}

function partOf(block: Members | null, clean: Cleaner): readonly Part[] {
  if (block === null) return []
  if (block.type === 'text') return listed(clean.part('text', block.text))
  if (block.type === 'thinking') return listed(clean.part('reasoning', block.thinking))
  if (block.type !== 'tool_use' && block.type !== 'server_tool_use' && block.type !== 'mcp_tool_use')
    return []
  const name = clean.name(block.name) ?? 'unknown'
  const id = clean.name(block.id)
  const fileEdits = fileEditsOf(name, block.input)
  const call: ToolCall = {
    ...(id === undefined ? {} : { id }),
    name,
    ...(block.input === undefined ? {} : { input: clean.json(block.input) }),
    ...(fileEdits === 0 ? {} : { fileEdits }),
  }
  return [{ type: 'call', call }]
}

const listed = (part: Part | null): readonly Part[] => (part === null ? [] : [part])

function usageOf(usage: Members): Usage {
  return {
    inputTokens: tokensOf(usage.input_tokens),
    outputTokens: tokensOf(usage.output_tokens),
    cacheReadTokens: tokensOf(usage.cache_read_input_tokens),
    cacheWriteTokens: tokensOf(usage.cache_creation_input_tokens),
    reasoningTokens: tokensOf(membersOf(usage.output_tokens_details)?.thinking_tokens),
  }
}

/** Only boundaries and errors say something about the conversation. */
const TOLD: ReadonlySet<unknown> = new Set(['compact_boundary', 'api_error'])

function readSystem(members: Members, clean: Cleaner): readonly Fact[] {
  if (!TOLD.has(members.subtype)) return []
  const part = clean.part('text', textOf(members.content) ?? String(members.subtype))
  return [
    {
      ...frame(members, 'system'),
      kind: 'notice',
      identity: identityOf(members),
      parts: listed(part),
    },
  ]
}
