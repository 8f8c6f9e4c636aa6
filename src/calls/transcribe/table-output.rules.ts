/** Parses tables of transcription programs: the tab-separated values of Whisper, the comma-separated ones of whisper.cpp. Pure. */
import type { Segment } from './segment.ts'

const HEADER = /^start([\t,])end\1(speaker\1)?text$/i
const NUMBER = '\\d{1,12}(?:\\.\\d{1,9})?'

/**
 * The rows below a header. Other lines are of the log.
 * @returns undefined if there is no table, null if nothing below its header is a row
 */
export function parseTable(lines: readonly string[]): readonly Segment[] | null | undefined {
  const start = lines.findIndex((line) => HEADER.test(line.trim()))
  const [, separator, hasSpeaker] = HEADER.exec(lines[start]?.trim() ?? '') ?? []
  if (separator === undefined) return undefined
  const speaker = hasSpeaker === undefined ? '()' : `([^${separator}]*)${separator}`
  const row = new RegExp(`^(${NUMBER})${separator}(${NUMBER})${separator}${speaker}(.*)$`)
  const below = lines.slice(start + 1).filter((line) => line.trim() !== '')
  const rows = below.map((line) => row.exec(line)).filter((found) => found !== null)
  if (rows.length === 0 && below.length > 0) return null
  // Both programs write whole milliseconds; programs that write decimals mean seconds.
  const unit = rows.some(([, from = '', to = '']) => `${from}${to}`.includes('.')) ? 1 : 1_000
  return rows.map(([, from = '', to = '', speaker = '', text = '']) => ({
    startSec: Number(from) / unit,
    endSec: Number(to) / unit,
    speaker: speaker.trim() || null,
    text: separator === ',' ? unquoted(text) : text,
  }))
}

/** RFC 4180, section 2. */
function unquoted(text: string): string {
  const quoted = /^\s*"(.*)"\s*$/.exec(text)
  return quoted === null ? text : (quoted[1] ?? '').replaceAll('""', '"')
}
