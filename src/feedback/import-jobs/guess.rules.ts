/**
 * Guesses what the columns of a CSV file mean, from their names and their first values. Pure. A person sees the guess and
 * changes it before anything is stored.
 */
import { isEmail } from '../../platform/validation/email-address.ts'
import { isFullDate, toUtc } from '../../platform/validation/rfc3339.ts'
import type { FieldType } from '../model.ts'
import { ADDED_COLUMNS } from '../refused-cells.rules.ts'
import type { MappingFile } from '../row-import/mapping.rules.ts'

const DELIMITERS = [',', ';', '\t', '|'] as const

/** The delimiter that occurs most often in the header, outside quotes. */
export function guessDelimiter(head: string): string {
  const counts = new Map<string, number>(DELIMITERS.map((one) => [one, 0]))
  let isQuoted = false
  for (const character of head) {
    if (character === '"') isQuoted = !isQuoted
    if (isQuoted) continue
    if (character === '\n') break
    const count = counts.get(character)
    if (count !== undefined) counts.set(character, count + 1)
  }
  return DELIMITERS.reduce((best, one) => ((counts.get(one) ?? 0) > (counts.get(best) ?? 0) ? one : best))
}

const ID =
  /^(?:(?:external|ticket|response|record|case|conversation|survey|message|feedback|review|issue)(?: ?(?:id|number|no|key))?|id|key|number|nr|#)$/
const CONTENT =
  /\b(?:comments?|feedback|messages?|text|description|answers?|reviews?|body|verbatim|suggestions?|quote|question|subject|kommentar|nachricht)\b/
const WORDS_OF_A_SENTENCE = 4

/** A mapping as the import takes it. Every column is named, unless its name is that of its role. */
export function guessMapping(header: readonly string[], rows: readonly (readonly string[])[]): MappingFile {
  const columns = header.map((name, index) => {
    const values = rows.map((row) => row[index] ?? '').filter((value) => value.trim() !== '')
    return { name, words: wordsOf(name), values }
  })
  type Column = (typeof columns)[number]
  const email = columns.find(({ values }) => all(values, (value) => isEmail(value.trim())))
  const isTime = ({ values }: Column) => all(values, (value) => toUtc(value.trim()) !== null)
  const timestamp = columns.find(isTime)
  const id = columns.find(
    ({ words, values }) => ID.test(words) && new Set(values).size === values.length && values.length > 0,
  )
  const roles = new Set([email, timestamp, id])
  const rules = columns
    .filter((column) => !roles.has(column))
    .map(({ name, words, values }) => [name, ruleOf(name, words, values)] as const)
  return {
    ...(id === undefined ? {} : { external_id: id.name }),
    ...(email === undefined ? {} : { email: email.name }),
    ...(timestamp === undefined ? {} : { timestamp: timestamp.name }),
    columns: Object.fromEntries(rules),
  }
}

function ruleOf(name: string, words: string, values: readonly string[]): string {
  if ((ADDED_COLUMNS as readonly string[]).includes(name) || !/[a-z0-9]/.test(words)) return '-'
  const type = typeOf(values)
  const isContent = type === 'string' && (CONTENT.test(words) || hasSentences(values))
  return `${isContent ? 'content' : 'metadata'}:${type}`
}

/** `Réponse_Nr` → `reponse nr`. */
function wordsOf(name: string): string {
  return name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .replaceAll(/[\s_-]+/g, ' ')
    .trim()
}

const hasSentences = (values: readonly string[]) =>
  values.length > 0 &&
  values.filter((value) => value.trim().split(/\s+/).length >= WORDS_OF_A_SENTENCE).length * 2 >=
    values.length

/** Numbers with a leading zero are codes, such as a postal code. */
function typeOf(values: readonly string[]): FieldType {
  const is = (test: (value: string) => boolean) => all(values, (value) => test(value.trim()))
  if (is((value) => /^[+-]?(?:0|[1-9]\d{0,14})$/.test(value))) return 'integer'
  if (is((value) => /^[+-]?(?:0|[1-9]\d{0,14})(?:\.\d{1,10})?$/.test(value))) return 'float'
  if (is((value) => /^(?:true|false|yes|no)$/i.test(value))) return 'boolean'
  if (is(isFullDate)) return 'date'
  if (is((value) => toUtc(value) !== null)) return 'datetime'
  return 'string'
}

const all = (values: readonly string[], test: (value: string) => boolean) =>
  values.length > 0 && values.every(test)
