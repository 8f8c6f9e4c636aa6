/**
 * Reads days as they are written in East Asia, and with the year first: `2026年1月5日 13時05分`, `令和8年1月5日`, `2026년 1월 5일 오후 1:05`,
 * `2026/1/5 13:05`. Pure.
 */

const ERAS: Readonly<Record<string, number>> = { 令和: 2018, 平成: 1988, 昭和: 1925, 民国: 1911, 民國: 1911 }
const DAY_SIGNS =
  /^(令和|平成|昭和|民国|民國)? ?(\d{1,4}|元) ?[年년] ?(\d{1,2}) ?[月월] ?(\d{1,2}) ?[日号號일](.*)$/s
const YEAR_FIRST = /^()(\d{4})(?:\/(\d{1,2})\/(\d{1,2})|\. ?(\d{1,2})\. ?(\d{1,2})\.?)(| .*)$/s
/** A day of the week behind the day. */
const WEEKDAY =
  /^ ?(?:\([^()]{1,4}\)|(?:星期|週|周)[一二三四五六日天]|[月火水木金土日]曜日?|[월화수목금토일]요일)/
const CLOCK =
  /^(午前|午後|上午|下午|오전|오후)? ?(\d{1,2})(?::(\d{2})(?::(\d{2}))?|[時时点點시](?: ?(\d{1,2}) ?[分분](?: ?(\d{1,2}) ?[秒초])?)?)$/
const AFTERNOON = /^(?:午後|下午|오후)$/
const [MIN_YEAR, MAX_YEAR] = [1900, 2200]

export interface Written {
  /** `2026-01-05T13:05:00`, not checked. */
  readonly local: string
  readonly hasTime: boolean
  /** The day names its parts: 年, 月, 日. */
  readonly hasSigns: boolean
}

/** @param text without compatible characters @returns null for any other text */
export function writtenMoment(text: string): Written | null {
  const signs = DAY_SIGNS.exec(text)
  const found = signs ?? YEAR_FIRST.exec(text)
  if (found === null) return null
  const [, era, given] = found
  const [month, day, rest] =
    signs === null ? [found[3] ?? found[5], found[4] ?? found[6], found[7]] : [found[3], found[4], found[5]]
  const year = (given === '元' ? 1 : Number(given)) + (era ? (ERAS[era] ?? 0) : 0)
  const clock = clockOf((rest ?? '').replace(WEEKDAY, '').trim())
  if (clock === null || year < MIN_YEAR || year > MAX_YEAR) return null
  return {
    local: `${year}-${two(month)}-${two(day)}T${clock || '00:00:00'}`,
    hasTime: clock !== '',
    hasSigns: signs !== null,
  }
}

/** Empty: there is none; null: not understood. */
function clockOf(text: string): string | null {
  if (text === '') return ''
  const [found, half, hour, minute, second, minuteSign, secondSign] = CLOCK.exec(text) ?? []
  if (found === undefined) return null
  if (half !== undefined && Number(hour) > 12) return null
  const hours = half === undefined ? Number(hour) : (Number(hour) % 12) + (AFTERNOON.test(half) ? 12 : 0)
  return `${two(String(hours))}:${two(minute ?? minuteSign)}:${two(second ?? secondSign)}`
}

const two = (part = '0') => part.padStart(2, '0')
