/** The `format`s that schemas of this service use. The library has none of its own, and registers them for the whole process. */
import { FormatRegistry } from '@sinclair/typebox'
import { isEmailAddress } from './email-address.ts'
import { isFullDate, isRfc3339 } from './rfc3339.ts'
import { accountAddress } from './user-address.ts'

interface Format {
  readonly accepts: (text: string) => boolean
  /** Completes "must be …". */
  readonly words: string
}

/** Accepts any version and variant. An id that no object can have is answered with 404, not 400. */
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Completes "must be …" for texts that `toUtc` reads. */
export const DATE_TIME = 'an RFC 3339 date-time with offset'
export const DATE_TIME_EXAMPLE = `${DATE_TIME}, such as 2026-01-02T03:04:05Z`

const FORMATS: Readonly<Record<string, Format>> = {
  // However it is written: it is stored in normal form.
  email: {
    accepts: (text) => isEmailAddress(accountAddress(text) ?? ''),
    words: 'an e-mail address, such as ann@example.com',
  },
  uuid: { accepts: (text) => UUID.test(text), words: 'a UUID' },
  'date-time': {
    accepts: isRfc3339,
    words: `${DATE_TIME}, such as 2026-01-31T09:30:00Z`,
  },
  date: { accepts: isFullDate, words: 'an RFC 3339 full-date, such as 2026-01-31' },
  uri: { accepts: (text) => URL.canParse(text), words: 'an absolute URL' },
  // The code that compiles it checks it and reports what is wrong.
  regex: { accepts: () => true, words: 'a regular expression' },
}

for (const [name, { accepts }] of Object.entries(FORMATS)) FormatRegistry.Set(name, accepts)

/** A description of the format that completes "must be …". */
export function wordsOfFormat(name: string): string {
  return FORMATS[name]?.words ?? `a text of the format ${name}`
}
