/**
 * Reads times as programs write them into files. Pure.
 *
 * A text is read only if it means one moment. `01/02/2026` is a day in January or in February, so it is refused. A time without an
 * offset counts as UTC, and a day alone as its first moment.
 */
import { toUtc } from '../../../platform/validation/rfc3339.ts'
import { writtenMoment } from './written-moment.rules.ts'

/** What the file may hold, for messages. */
export const MOMENT_EXAMPLES =
  'a time such as 2026-01-02T03:04:05Z, 2026-01-02 03:04:05 +01:00, 02.01.2026 03:04, 2026年1月2日 or 2026-01-02'

const ISO =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2}))?(?:[.,](\d{1,9}))? ?(Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?)?)?$/i
const DOTTED = /^(\d{1,2})\.(\d{1,2})\.(\d{4})(?:,? (\d{1,2}):(\d{2})(?::(\d{2}))?)?$/
/** Days since 1899-12-30, as spreadsheets count them: 1954 to 2119. Other numbers are no times. */
const SERIAL = /^([2-7]\d{4})(?:[.,]\d{1,12})?$/
const SERIAL_EPOCH = Date.UTC(1899, 11, 30)
const DAY_MS = 86_400_000

/** RFC 3339 in UTC; null: the text is no time, or may be several. */
export function momentOf(text: string): string | null {
  const plain = plainOf(text)
  return toUtc(plain) ?? isoOf(plain) ?? dottedOf(plain) ?? writtenOf(plain) ?? serialOf(plain)
}

/** The zeros of scripts that write times with digits of their own: Arabic, Persian, Devanagari, Bengali, Thai. */
const ZEROS = [0x660, 0x6f0, 0x966, 0x9e6, 0xe50]
const MAX_MOMENT = 100

/** The text without compatible characters, with the digits of ASCII and without marks of the direction. */
function plainOf(text: string): string {
  if (text.length > MAX_MOMENT || /^[ -~]*$/.test(text)) return text
  return text
    .normalize('NFKC')
    .replace(/\p{Cf}/gu, '')
    .replace(/\p{Nd}/gu, (digit) => {
      const code = digit.charCodeAt(0)
      const zero = ZEROS.find((one) => code >= one && code < one + 10)
      return zero === undefined ? digit : String(code - zero)
    })
}

function writtenOf(text: string): string | null {
  const written = writtenMoment(text)
  return written === null ? null : toUtc(`${written.local}Z`)
}

function isoOf(text: string): string | null {
  const match = ISO.exec(text)
  if (match === null) return null
  const [, year, month, day, hour = '00', minute = '00', second = '00', fraction, zone = 'Z'] = match
  const decimals = fraction === undefined ? '' : `.${fraction}`
  return toUtc(`${year}-${month}-${day}T${hour}:${minute}:${second}${decimals}${offsetOf(zone)}`)
}

function offsetOf(zone: string): string {
  const [, sign, hours, minutes = '00'] = /^([+-])(\d{2}):?(\d{2})?$/.exec(zone) ?? []
  return sign === undefined ? 'Z' : `${sign}${hours}:${minutes}`
}

function dottedOf(text: string): string | null {
  const match = DOTTED.exec(text)
  if (match === null) return null
  const [, day = '', month = '', year, hour = '0', minute = '00', second = '00'] = match
  const two = (part: string) => part.padStart(2, '0')
  return toUtc(`${year}-${two(month)}-${two(day)}T${two(hour)}:${minute}:${second}Z`)
}

function serialOf(text: string): string | null {
  if (!SERIAL.test(text)) return null
  const ms = Math.round((Number(text.replace(',', '.')) * DAY_MS) / 1_000) * 1_000
  return toUtc(new Date(SERIAL_EPOCH + ms).toISOString())
}

/** Whether the text shows by itself that it is a time: it has an hour, and is more than a number. */
export function isPlainMoment(text: string): boolean {
  const plain = plainOf(text)
  return (plain.includes(':') || writtenMoment(plain)?.hasTime === true) && momentOf(text) !== null
}

/** Whether the text shows by itself that it is a day: it names its parts. */
export const isWrittenDay = (text: string): boolean =>
  writtenMoment(plainOf(text))?.hasSigns === true && momentOf(text) !== null
