/**
 * Guesses what the columns of a CSV file mean, from their names and their first values. Pure. A person sees the guess and
 * changes it before anything is stored.
 */
import { composed, withoutAccents } from '../../../platform/text/normal-form.rules.ts'
import { isEmail } from '../../../platform/validation/email-address.ts'
import { isFullDate, toUtc } from '../../../platform/validation/rfc3339.ts'
import type { FieldType } from '../model.ts'
import { ADDED_COLUMNS } from '../refused-cells.rules.ts'
import { fieldName, type Mapping, type MappingFile, useOfColumn } from '../row-import/mapping.rules.ts'
import { isPlainMoment, isWrittenDay, momentOf } from '../row-import/moment.rules.ts'

const ID =
  /^(?:(?:external|ticket|response|record|case|conversation|survey|message|feedback|review|issue)(?: ?(?:id|number|no|key))?|id|key|number|nr|#|номер|番号|编号|編號|번호)$/
const CONTENT =
  /\b(?:comments?|feedback|messages?|text|description|answers?|reviews?|body|verbatim|suggestions?|quote|question|subject|kommentar|nachricht)\b|комментари|сообщени|отзыв|コメント|メッセージ|感想|评论|評論|留言|反馈|의견|댓글/
const EMAIL = /\be ?-?mails?\b|почт|メール|邮箱|郵箱|邮件|이메일/
/** Names of columns whose days or numbers are times. */
const TIME =
  /\b(?:time|timestamp|date|datum|day|created|updated|submitted|received|sent|at|fecha|zeit|zeitpunkt|tarih|ngay)\b|(?<!\p{L})(?:дата|время|час|створено|создан[оа]?)(?!\p{L})|ημερομηνια|日時|日付|日期|时间|時間|時刻|時点|(?:登録|作成|回答|受付|投稿|送信|提交|创建|建立|更新|発生)(?:日|于|於|时|時)?|날짜|일시|시간|등록일|작성일|תאריך|تاريخ|وقت|تاریخ|زمان|दिनांक|तारीख|समय|วันที่|เวลา/u
/** Names of columns that have times and are hardly anything else, whatever their values are. */
const SURELY_TIME =
  /^(?:(?:created|updated|submitted|received|sent)(?: (?:at|on|date|time))?|(?:date|time|timestamp|datum|fecha)(?: .*)?|.* (?:date|time|timestamp|datum))$|(?<!\p{L})дата(?!\p{L})|ημερομηνια|日時|日付|日期|时间|時間|時刻|날짜|일시|등록일|작성일|תאריך|تاريخ|تاریخ|दिनांक|तारीख|วันที่/u
/** Days in such columns are about people. */
const BIRTH = /\b(?:birth|born|geburt|geburtsdatum)|рождени|народження|生年|誕生|出生|生日|생년|생일/
/** Signs of scripts that are written without spaces. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/gu
const SIGNS_OF_A_SENTENCE = 8
const WORDS_OF_A_SENTENCE = 4

/** A mapping as the import takes it. Every column is named, unless its name is that of its role. */
export function guessMapping(header: readonly string[], rows: readonly (readonly string[])[]): MappingFile {
  const columns = header.map((name, index) => {
    const values = rows.map((row) => row[index] ?? '').filter((value) => value.trim() !== '')
    return { name, words: wordsOf(name), values }
  })
  const email = emailAmong(columns)
  const timestamp = timeAmong(columns)
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

interface Column {
  readonly name: string
  readonly words: string
  readonly values: readonly string[]
}

/** Of 10 values. The rows of the others are refused, unless a person leaves the column out. */
const ADDRESSES = 9
const ADDRESSES_IF_CALLED_SO = 5

/** A column whose values are all addresses comes first. */
function emailAmong(columns: readonly Column[]): Column | undefined {
  const has =
    (tenths: number) =>
    ({ values }: Column) =>
      values.length > 0 &&
      values.filter((value) => isEmail(value.trim())).length * 10 >= values.length * tenths
  const called = columns.filter(({ words }) => EMAIL.test(words))
  return columns.find(has(10)) ?? columns.find(has(ADDRESSES)) ?? called.find(has(ADDRESSES_IF_CALLED_SO))
}

/** Numbers are times only in a column that is called so, and so are days that do not name their parts. */
function timeAmong(given: readonly Column[]): Column | undefined {
  const columns = given.filter(({ words }) => !BIRTH.test(words))
  const isTime = ({ values }: Column) => all(values, (value) => isPlainMoment(value.trim()))
  const isCalledTime = ({ words, values }: Column) =>
    TIME.test(words) && all(values, (value) => momentOf(value.trim()) !== null)
  const isDay = ({ values }: Column) => all(values, (value) => isWrittenDay(value.trim()))
  return columns.find(isTime) ?? columns.find(isCalledTime) ?? columns.find(isDay)
}

function ruleOf(name: string, words: string, values: readonly string[]): string {
  if ((ADDED_COLUMNS as readonly string[]).includes(name) || fieldName(name) === null) return '-'
  const type = typeOf(values)
  const isContent = type === 'string' && (CONTENT.test(words) || hasSentences(values))
  return `${isContent ? 'content' : 'metadata'}:${type}`
}

/** Longer names are judged by their beginning. */
const MAX_NAME = 200

/** `Réponse_Nr` → `reponse nr`. */
function wordsOf(name: string): string {
  return withoutAccents(composed(name.slice(0, MAX_NAME)))
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .replaceAll(/[\s_-]+/g, ' ')
    .trim()
}

const hasSentences = (values: readonly string[]) =>
  values.length > 0 && values.filter(isSentence).length * 2 >= values.length

const isSentence = (value: string) =>
  value.trim().split(/\s+/).length >= WORDS_OF_A_SENTENCE ||
  (value.match(UNSPACED)?.length ?? 0) >= SIGNS_OF_A_SENTENCE

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

/** What a person should know before the import. */
export interface Note {
  readonly about: 'content' | 'email' | 'timestamp'
  /** null: no column looks like it. */
  readonly column: string | null
  readonly text: string
}

/** What a mapping leaves unused. A file without a header has an empty one here. */
export function notesOf(
  header: readonly string[],
  suggestion: MappingFile,
  mapping: Mapping,
): readonly Note[] {
  const roles = header.map((column) => {
    const use = useOfColumn(mapping, column)
    return 'role' in use ? use.role : null
  })
  const called = (names: RegExp) =>
    header.find((name) => names.test(wordsOf(name)) && !BIRTH.test(wordsOf(name)))
  const unused = (about: 'email' | 'timestamp', column: string | undefined, is: string, effect: string) =>
    column === undefined || !header.includes(column) || roles.includes(about)
      ? []
      : [
          {
            about,
            column,
            text: `The column ${JSON.stringify(column)} looks like ${is}, but is not used as such: ${effect}.`,
          },
        ]
  return [
    ...contentNotes(suggestion, mapping),
    ...unused(
      'email',
      suggestion.email ?? called(EMAIL),
      'the address of the person',
      'the records are linked to no person',
    ),
    ...unused(
      'timestamp',
      suggestion.timestamp ?? called(SURELY_TIME),
      'the time of the feedback',
      'the records get the time of the import',
    ),
  ]
}

function contentNotes({ columns }: MappingFile, mapping: Mapping): readonly Note[] {
  if ([...mapping.columns.values()].some((rule) => rule?.category === 'content')) return []
  const column = Object.entries(columns ?? {}).find(([, rule]) => rule.startsWith('content'))?.[0] ?? null
  const hint = column === null ? '' : ` The column ${JSON.stringify(column)} looks like it.`
  const text = `No column is read as what the customer said, so the records are not analysed.${hint}`
  return [{ about: 'content', column, text }]
}
