/**
 * Decides whether an assistant message has visible content.
 *
 * Visible final responses are metered (specification, "Effects"), so a message that only calls a tool, only thinks, or is blank must
 * not count. Message parts have the shapes of many frameworks. A part counts as visible unless it is known to be hidden or blank.
 */

/** Values of `type`, in the spelling of common frameworks, for message parts that the reader does not see. */
const HIDDEN_PARTS: ReadonlySet<unknown> = new Set([
  'tool_use',
  'tool_call',
  'tool-call',
  'tool_result',
  'tool-result',
  'function_call',
  'function_call_output',
  'reasoning',
  'thinking',
  'redacted_thinking',
])

/** Nesting depth to which the parts of a message are read. */
const MAX_DEPTH = 8

/** True where `content` has a text that is not blank, or a visible part of another kind. */
export function isVisible(content: unknown): boolean {
  if (typeof content === 'string') return content.trim() !== ''
  if (Array.isArray(content)) return content.some(isVisible)
  if (typeof content !== 'object' || content === null) return false
  const part = content as Readonly<Record<string, unknown>>
  if (HIDDEN_PARTS.has(part.type)) return false
  const inner = part.text ?? part.content ?? part.parts
  if (inner !== undefined) return isVisible(inner)
  return Object.keys(part).some((name) => name !== 'type')
}

/** What a reader sees of a message: a plain string, or the texts of its visible parts, one a line. At most `most` code units. */
export function visibleText(content: unknown, most: number): string {
  const lines: string[] = []
  let left = most
  const collect = (part: unknown, depth: number): void => {
    if (left <= 0 || depth > MAX_DEPTH) return
    if (typeof part === 'string') {
      if (part.trim() !== '') lines.push(part.slice(0, left))
      left -= part.length
    } else if (Array.isArray(part)) {
      for (const one of part) collect(one, depth + 1)
    } else if (typeof part === 'object' && part !== null) {
      const { type, text, content: inner, parts } = part as Readonly<Record<string, unknown>>
      if (!HIDDEN_PARTS.has(type)) collect(text ?? inner ?? parts, depth + 1)
    }
  }
  collect(content, 0)
  return lines.join('\n').toWellFormed()
}
