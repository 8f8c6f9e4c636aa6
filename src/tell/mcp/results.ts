/** Answers of tools. */
import type { CallToolResult } from '@modelcontextprotocol/server'

/** More would fill the context of a model. Every tool limits its lists so that its answers stay below. */
const MAX_RESULT_CHARACTERS = 60_000

/** The value, structured and as text for clients that read only text. */
export function succeeded(value: object): CallToolResult {
  const text = JSON.stringify(value)
  if (text.length > MAX_RESULT_CHARACTERS)
    return failed('result_too_large', 'The answer is too large. Ask for fewer items.')
  // Parsed again, so that times are text in both forms.
  return { structuredContent: JSON.parse(text), content: [{ type: 'text', text }] }
}

/** An error that the model can read and act on. */
export function failed(code: string, message: string): CallToolResult {
  return { isError: true, content: [{ type: 'text', text: `${code}: ${message}` }] }
}
