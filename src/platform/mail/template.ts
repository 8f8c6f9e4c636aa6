/**
 * Templates of mails, in the notation of Mustache: `{{name}}` inserts an escaped value, `{{{name}}}` inserts HTML.
 *
 * A name without a value is an error. Names inside values are not replaced.
 */

type Values = Readonly<Record<string, string>>

/** Fills a template of HTML. */
export function fillHtml(template: string, values: Values): string {
  return template.replaceAll(/\{\{\{(\w+)\}\}\}|\{\{(\w+)\}\}/g, (_, raw?: string, escaped?: string) =>
    raw === undefined ? escapeHtml(lookUp(values, escaped ?? '')) : lookUp(values, raw),
  )
}

/** Fills a template of plain text, where nothing needs escaping. */
export function fillText(template: string, values: Values): string {
  return template.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => lookUp(values, name))
}

/** Converts text with line breaks to HTML. */
export function textAsHtml(text: string): string {
  return escapeHtml(text).replaceAll(/\r\n?|\n/g, '<br>\n')
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
}

function lookUp(values: Values, name: string): string {
  const value = Object.hasOwn(values, name) ? values[name] : undefined
  if (value === undefined) throw new Error(`a mail template has no value for ${name}`)
  return value
}
