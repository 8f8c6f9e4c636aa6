/**
 * Reads records of Gemini CLI (`session-*.jsonl`), and the older single document (`session-*.json`). Pure.
 *
 * A message is written again whenever it changes; the last version counts. `$set` changes facts of the session, `$rewindTo`
 * removes a message and everything after it.
 */
import { type Cleaner, MAX_RESULT, MAX_TEXT } from '../clean.ts'
import type { EventFact, EventKind, Fact, Part, Role, ToolCall, Usage } from '../event.rules.ts'
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

export function readGeminiCli(line: string, clean: Cleaner): readonly Fact[] {
  const members = parseLine(line)
  if (members === null) return [{ fact: 'skip' }]
  const target = textOf(members.$rewindTo)
  if (target !== null) return [{ fact: 'undo', identity: target }]
  const change = membersOf(members.$set)
  if (change !== null) return [...sessionOf(change, clean), ...messagesOf(change, clean)]
  if (textOf(members.id) !== null && textOf(members.type) !== null) return readMessage(members, clean)
  if (textOf(members.sessionId) !== null) return [...sessionOf(members, clean), ...messagesOf(members, clean)]
  return [{ fact: 'skip' }]
}

function sessionOf(members: Members, clean: Cleaner): readonly Fact[] {
  const externalSessionId = clean.name(members.sessionId)
  const title = clean.name(members.summary)
  if (externalSessionId === undefined && title === undefined) return []
  const session = {
    ...(externalSessionId === undefined ? {} : { externalSessionId }),
    ...(title === undefined ? {} : { title: title.slice(0, 255).toWellFormed() }),
  }
  return [{ fact: 'session', session }]
}

/** The older document, and the whole history after a compression. */
function messagesOf(members: Members, clean: Cleaner): readonly Fact[] {
  return listOf(members.messages).flatMap((message) => {
    const known = membersOf(message)
    return known === null ? [{ fact: 'skip' } as const] : readMessage(known, clean)
  })
}

const KINDS: Readonly<Record<string, readonly [EventKind, Role]>> = {
  user: ['message', 'user'],
  gemini: ['message', 'assistant'],
  info: ['notice', 'system'],
  warning: ['notice', 'system'],
  error: ['notice', 'system'],
}

const INJECTED = /^\s*(?:<session_context>|This is the Gemini CLI\.)/

function readMessage(members: Members, clean: Cleaner): readonly Fact[] {
  const type = textOf(members.type) ?? ''
  const known = Object.hasOwn(KINDS, type) ? KINDS[type] : undefined
  if (known === undefined) return [{ fact: 'skip' }]
  const text = textsOf(members.content)
  const parts = [...thoughtsOf(members, clean), ...partOf(text, clean), ...callsOf(members, clean)]
  // A user's record with results of tools only: the calls of the answer before it contain them.
  if (parts.length === 0 && members.type === 'user') return []
  const [kind, role] = INJECTED.test(text) ? (['notice', 'system'] as const) : known
  const tokens = membersOf(members.tokens)
  const fact: EventFact = {
    fact: 'event',
    identity: textOf(members.id),
    record: hashOf(JSON.stringify(members)),
    kind,
    role,
    occurredAt: timeOf(members.timestamp),
    model: clean.name(members.model) ?? null,
    sidechain: false,
    parts,
    replaces: true,
    ...(tokens === null ? {} : { usage: usageOf(tokens) }),
  }
  return [fact, ...skippedUsage(tokens)]
}

/** Text, a part, or a list of both. Results of tools are left out. */
function textsOf(content: unknown): string {
  if (typeof content === 'string') return content
  const list = Array.isArray(content) ? content : [content]
  return list
    .map((part) => (typeof part === 'string' ? part : (textOf(membersOf(part)?.text) ?? '')))
    .filter((text) => text !== '')
    .join('\n')
}

const partOf = (text: string, clean: Cleaner): readonly Part[] =>
  text.trim() === '' ? [] : [{ type: 'text', text: clean.text(text, MAX_TEXT) }]

function thoughtsOf(members: Members, clean: Cleaner): readonly Part[] {
  return listOf(members.thoughts).flatMap((thought) => {
    const { subject, description } = membersOf(thought) ?? {}
    const text = [textOf(subject), textOf(description)].filter((one) => one !== null).join('\n')
    return text === '' ? [] : [{ type: 'reasoning', text: clean.text(text, MAX_TEXT) } as const]
  })
}

function callsOf(members: Members, clean: Cleaner): readonly Part[] {
  return listOf(members.toolCalls).flatMap((value) => {
    const call = membersOf(value)
    if (call === null) return []
    const name = clean.name(call.name) ?? 'unknown'
    const id = clean.name(call.id)
    const output = outputOf(call.result)
    const fileEdits = fileEditsOf(name, call.args)
    const read: ToolCall = {
      ...(id === undefined ? {} : { id }),
      name,
      ...(call.args === undefined ? {} : { input: clean.json(call.args) }),
      ...(output === '' ? {} : { output: clean.text(output, MAX_RESULT) }),
      ...(call.status === 'error' ? { isError: true } : {}),
      ...(fileEdits === 0 ? {} : { fileEdits }),
    }
    return [{ type: 'call', call: read } as const]
  })
}

/** The texts of `functionResponse` parts. */
function outputOf(result: unknown): string {
  if (typeof result === 'string') return result
  return listOf(result)
    .map((part) => {
      const response = membersOf(membersOf(membersOf(part)?.functionResponse)?.response)
      return textOf(response?.output) ?? textOf(response?.error) ?? textsOf(part)
    })
    .filter((text) => text !== '')
    .join('\n')
}

/** The prompt includes cached tokens; thoughts and prompts of tools are counted beside the others. */
function usageOf(tokens: Members): Usage {
  const cached = tokensOf(tokens.cached)
  const thoughts = tokensOf(tokens.thoughts)
  return {
    inputTokens: Math.max(0, tokensOf(tokens.input) - cached) + tokensOf(tokens.tool),
    outputTokens: tokensOf(tokens.output) + thoughts,
    cacheReadTokens: cached,
    cacheWriteTokens: 0,
    reasoningTokens: thoughts,
  }
}
