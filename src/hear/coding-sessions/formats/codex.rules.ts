/**
 * Reads lines of Codex (`rollout-*.jsonl`). Pure.
 *
 * Every text is written twice, as `response_item` and as `event_msg`. Messages are taken from the former, tokens from the
 * latter. A fork begins with the history of its parent, whose `session_meta` comes after the fork's own.
 */
import { parseExact } from '../../../platform/validation/exact-number.rules.ts'
import { type Cleaner, MAX_RESULT } from '../clean.ts'
import type { EventFact, Fact, Part, ThreadFact, ToolCall, Usage } from '../event.rules.ts'
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

const SILENT: ReadonlySet<unknown> = new Set(['world_state', 'inter_agent_communication'])

/** Texts in the user's name that the program writes. */
const INJECTED =
  /^\s*(?:<(?:environment_context|user_instructions|permissions[ _a-z]*|turn_aborted|user_shell_command|skill|skills_instructions|plugins_instructions|apps_instructions|recommended_plugins|hook_prompt|collaboration_mode|model_switch|personality_spec|subagent_notification|INSTRUCTIONS)[\s>]|# AGENTS\.md instructions)/

export function readCodex(line: string, clean: Cleaner): readonly Fact[] {
  const members = parseLine(line)
  if (members === null) return [{ fact: 'skip' }]
  // The oldest files have items and the header without an envelope.
  const payload = membersOf(members.payload) ?? members
  const occurredAt = timeOf(members.timestamp)
  return readLine(members, payload, occurredAt, clean).map((fact) => withOrdinal(fact, members.ordinal))
}

/** Newer versions number the lines. */
function withOrdinal(fact: Fact, ordinal: unknown): Fact {
  const isNumbered = fact.fact === 'event' || fact.fact === 'total'
  return isNumbered && Number.isSafeInteger(ordinal) ? { ...fact, ordinal: ordinal as number } : fact
}

function readLine(
  members: Members,
  payload: Members,
  occurredAt: string | null,
  clean: Cleaner,
): readonly Fact[] {
  switch (members.type) {
    case 'session_meta':
      return readMeta(payload, occurredAt, clean)
    case 'response_item':
      return readItem(payload, occurredAt, clean)
    case 'event_msg':
      return readEvent(payload, occurredAt)
    case 'turn_context':
      return readTurn(payload)
    case 'token_usage_record':
      return readUsage(payload, occurredAt, clean)
    case 'compacted':
      return readCompacted(payload, occurredAt, clean)
    default:
      return SILENT.has(members.type) ? [] : readBare(members, occurredAt, clean)
  }
}

function readBare(members: Members, occurredAt: string | null, clean: Cleaner): readonly Fact[] {
  if (members.type === undefined && textOf(members.id) !== null) return readMeta(members, occurredAt, clean)
  if (members.record_type === 'state') return []
  return typeof members.type === 'string' && ITEMS.has(members.type)
    ? readItem(members, occurredAt, clean)
    : [{ fact: 'skip' }]
}

function readMeta(payload: Members, occurredAt: string | null, clean: Cleaner): readonly Fact[] {
  const id = clean.name(payload.id) ?? clean.name(payload.session_id)
  if (id === undefined) return [{ fact: 'skip' }]
  const git = membersOf(payload.git)
  const [repo, branch, commit] = [git?.repository_url, git?.branch, git?.commit_hash].map(clean.name)
  const session = {
    externalSessionId: id,
    ...(repo === undefined ? {} : { repo }),
    ...(branch === undefined ? {} : { branch }),
    ...(commit === undefined ? {} : { commit }),
  }
  return [threadOf(id, payload, occurredAt, clean), { fact: 'session', session }]
}

function threadOf(id: string, payload: Members, occurredAt: string | null, clean: Cleaner): ThreadFact {
  const spawn = membersOf(membersOf(membersOf(payload.source)?.subagent)?.thread_spawn)
  const parents = [payload.forked_from_id, payload.parent_thread_id, spawn?.parent_thread_id].map(clean.name)
  const ends = [
    payload.subagent_history_start_ordinal,
    membersOf(payload.history_base)?.end_ordinal_exclusive,
  ]
  return {
    fact: 'thread',
    id,
    startedAt: timeOf(payload.timestamp) ?? occurredAt,
    parentId: parents.find((parent) => parent !== undefined && parent !== id) ?? null,
    historyEnd: ends.find((end): end is number => Number.isSafeInteger(end)) ?? null,
  }
}

function readTurn(payload: Members): readonly Fact[] {
  const id = textOf(payload.turn_id)
  return id === null ? [] : [{ fact: 'turn', id }]
}

const CALLS: ReadonlySet<string> = new Set([
  'function_call',
  'custom_tool_call',
  'local_shell_call',
  'web_search_call',
  'tool_search_call',
  'image_generation_call',
])
const OUTPUTS: ReadonlySet<string> = new Set([
  'function_call_output',
  'custom_tool_call_output',
  'tool_search_output',
])
const QUIET_ITEMS: ReadonlySet<string> = new Set([
  'additional_tools',
  'agent_message',
  'compaction',
  'compaction_summary',
  'context_compaction',
  'ghost_snapshot',
])
const ITEMS: ReadonlySet<string> = new Set(['message', 'reasoning', ...CALLS, ...OUTPUTS, ...QUIET_ITEMS])

function readItem(item: Members, occurredAt: string | null, clean: Cleaner): readonly Fact[] {
  const type = textOf(item.type) ?? ''
  const common = { fact: 'event', occurredAt, model: null, sidechain: false } as const
  // Times are not part of the content: a fork rewrites them.
  const record = hashOf(JSON.stringify(item))
  if (type === 'message') return readMessage(item, { ...common, record }, clean)
  if (type === 'reasoning') {
    const text = [...listOf(item.summary), ...listOf(item.content)].map(textIn).filter(Boolean).join('\n')
    const part = clean.part('reasoning', text)
    const fact = { ...common, record, kind: 'reasoning', role: 'assistant', identity: null } as const
    return part === null ? [] : [{ ...fact, parts: [part] }]
  }
  if (CALLS.has(type)) return [{ ...common, record, ...readCall(item, type, clean) }]
  if (OUTPUTS.has(type)) return [{ ...common, record, ...readOutput(item, clean) }]
  return QUIET_ITEMS.has(type) ? [] : [{ fact: 'skip' }]
}

type Content = Omit<EventFact, 'fact' | 'record' | 'occurredAt' | 'model' | 'sidechain'>

const textIn = (value: unknown): string => textOf(membersOf(value)?.text) ?? ''

function readMessage(
  item: Members,
  common: Pick<EventFact, 'fact' | 'occurredAt' | 'model' | 'sidechain' | 'record'>,
  clean: Cleaner,
): readonly Fact[] {
  const { role } = item
  const blocks = typeof item.content === 'string' ? [{ text: item.content }] : listOf(item.content)
  const texts = blocks.map((block) => (membersOf(block)?.type === 'input_image' ? '[image]' : textIn(block)))
  const parts = texts.map((text) => clean.part('text', text)).filter((part) => part !== null)
  if (parts.length === 0 || (role !== 'user' && role !== 'assistant')) return []
  if (role === 'user' && texts.every((text) => text === '' || INJECTED.test(text))) return []
  return [{ ...common, kind: 'message', role, identity: null, parts }]
}

function readCall(item: Members, type: string, clean: Cleaner): Content {
  const callId = clean.name(item.call_id)
  const name = clean.name(item.name) ?? type.replace(/_call$/, '')
  const input = inputOf(item)
  const fileEdits = fileEditsOf(name, input)
  const call: ToolCall = {
    ...(callId === undefined ? {} : { id: callId }),
    name,
    ...(input === undefined ? {} : { input: clean.json(input) }),
    ...(fileEdits === 0 ? {} : { fileEdits }),
  }
  const parts: readonly Part[] = [{ type: 'call', call }]
  const common = { kind: 'tool_call', role: 'assistant', parts } as const
  if (callId === undefined) return { ...common, identity: null }
  return { ...common, identity: `call ${callId}`, repeats: { type: 'call', callId } }
}

/** `arguments` is JSON in a text. */
function inputOf(item: Members): unknown {
  const value = item.arguments ?? item.input ?? item.action
  if (item.arguments === undefined || typeof value !== 'string') return value
  try {
    return parseExact(value)
  } catch {
    return value
  }
}

function readOutput(item: Members, clean: Cleaner): Content {
  const callId = clean.name(item.call_id)
  const output = membersOf(item.output)
  const body = output?.content ?? item.output ?? item.tools
  const text =
    typeof body === 'string'
      ? body
      : Array.isArray(body)
        ? body.map(textIn).filter(Boolean).join('\n')
        : body === undefined
          ? ''
          : JSON.stringify(body)
  const parts: Part[] = text.trim() === '' ? [] : [{ type: 'text', text: clean.text(text, MAX_RESULT) }]
  return {
    kind: 'tool_result',
    role: 'tool',
    identity: callId === undefined ? null : `output ${callId}`,
    parts,
    ...(callId === undefined
      ? {}
      : {
          toolCallId: callId,
          repeats: { type: 'result', callId, content: hashOf(JSON.stringify(item.output ?? null)) },
        }),
    ...(output?.success === false ? { isError: true } : {}),
  }
}

const TURN_STARTS: ReadonlySet<unknown> = new Set(['task_started', 'turn_started'])

function readEvent(payload: Members, occurredAt: string | null): readonly Fact[] {
  if (payload.type === 'thread_rolled_back') return [{ fact: 'undo', turns: tokensOf(payload.num_turns) }]
  if (TURN_STARTS.has(payload.type)) return readTurn(payload)
  if (payload.type !== 'token_count') return []
  const info = membersOf(payload.info)
  const total = membersOf(info?.total_token_usage)
  if (total === null) return []
  const last = membersOf(info?.last_token_usage)
  return [
    { fact: 'total', total: usageOf(total), last: last === null ? null : usageOf(last), occurredAt },
    ...skippedUsage(total, last),
  ]
}

/** Newer versions write the tokens of each answer, before the total that contains them. */
function readUsage(payload: Members, occurredAt: string | null, clean: Cleaner): readonly Fact[] {
  const usage = membersOf(payload.usage)
  if (usage === null) return [{ fact: 'skip' }]
  const [threadId, responseId] = [payload.thread_id, payload.response_id].map(clean.name)
  return [
    {
      fact: 'total',
      total: null,
      last: usageOf(usage),
      occurredAt,
      ...(threadId === undefined ? {} : { threadId }),
      ...(responseId === undefined ? {} : { responseId }),
    },
    ...skippedUsage(usage),
  ]
}

/** The input includes cached tokens. */
function usageOf(tokens: Members): Usage {
  const cached = tokensOf(tokens.cached_input_tokens)
  const written = tokensOf(tokens.cache_write_input_tokens)
  return {
    inputTokens: Math.max(0, tokensOf(tokens.input_tokens) - cached - written),
    outputTokens: tokensOf(tokens.output_tokens),
    cacheReadTokens: cached,
    cacheWriteTokens: written,
    reasoningTokens: tokensOf(tokens.reasoning_output_tokens),
  }
}

function readCompacted(payload: Members, occurredAt: string | null, clean: Cleaner): readonly Fact[] {
  const part = clean.part('text', payload.message)
  if (part === null) return []
  return [
    {
      fact: 'event',
      kind: 'summary',
      role: 'system',
      identity: null,
      record: hashOf('compacted', String(payload.message)),
      occurredAt,
      model: null,
      sidechain: false,
      parts: [part],
    },
  ]
}
