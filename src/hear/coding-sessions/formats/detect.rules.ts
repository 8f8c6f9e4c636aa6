/** Tells the format of a file by its first lines. Pure. */
import type { Format } from '../event.rules.ts'
import { membersOf, parseLine } from './json.rules.ts'

/** null: the lines are of no known format. */
export function detectFormat(lines: Iterable<string>): Format | null {
  for (const line of lines) {
    const format = formatOf(line)
    if (format !== null) return format
  }
  return null
}

const CODEX_TYPES: ReadonlySet<unknown> = new Set([
  'session_meta',
  'response_item',
  'event_msg',
  'token_usage_record',
  'turn_context',
  'compacted',
])

/** null: the line does not tell. */
export function formatOf(line: string): Format | null {
  const members = parseLine(line)
  if (members === null) return null
  if (CODEX_TYPES.has(members.type) && membersOf(members.payload) !== null) return 'codex'
  if (typeof members.projectHash === 'string' || members.$set !== undefined) return 'gemini-cli'
  if (members.type === 'gemini') return 'gemini-cli'
  if (typeof members.kind === 'string' && members.type === undefined) return 'normalized'
  const isClaude =
    typeof members.type === 'string' &&
    (typeof members.sessionId === 'string' ||
      typeof members.leafUuid === 'string' ||
      members.snapshot !== undefined)
  if (isClaude) return 'claude-code'
  // The oldest files of Codex begin with a header that has no type.
  const isBareCodex =
    members.type === undefined && typeof members.id === 'string' && typeof members.timestamp === 'string'
  return isBareCodex ? 'codex' : null
}
