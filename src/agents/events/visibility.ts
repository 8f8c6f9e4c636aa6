/**
 * Whether a reader saw anything of an assistant message.
 *
 * Visible, finalised responses are metered (specification, "Effects"), so a message that only calls a tool, only
 * thinks, or is blank must not count. Message parts come in the shapes of many frameworks: what is not known to be
 * hidden or blank is taken as seen.
 */

/** `type` of message parts that are no answer to the reader, as the common frameworks spell it. */
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

/** True where `content` has a non-blank text, or a part that is more than empty. */
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
