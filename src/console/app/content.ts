/** The content of an event as text. Content may be text, parts, or any JSON. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (content === undefined || content === null) return ''
  if (Array.isArray(content)) return content.map(textOf).filter(Boolean).join('\n')
  if (typeof content === 'object' && 'text' in content && typeof content.text === 'string')
    return content.text
  return JSON.stringify(content, null, 2)
}
