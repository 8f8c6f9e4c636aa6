/**
 * Transcripts as WebVTT, SubRip and plain text. Pure.
 *
 * The rule: whatever was said stays text. What would end a cue or begin markup is escaped (WebVTT) or, where the format knows no
 * escapes (SubRip), replaced by what looks like it.
 */
import type { ExportFormat, Utterance } from './model.ts'

export type TextFormat = Exclude<ExportFormat, 'json'>

/** What a speaker is called in the exported text. */
type NameOf = (speaker: number) => string

const WRITERS: Readonly<Record<TextFormat, (entries: readonly Utterance[], nameOf: NameOf) => string>> = {
  vtt: toVtt,
  srt: toSrt,
  txt: toText,
}

/** Media types by format: RFC-registered for WebVTT; SubRip has none that is registered, this one is what players send. */
export const MEDIA_TYPES: Readonly<Record<ExportFormat, string>> = {
  json: 'application/json',
  vtt: 'text/vtt',
  srt: 'application/x-subrip',
  txt: 'text/plain',
}

/** A participant's name as a person wrote it; members are null where unknown. */
export interface Speaker {
  readonly speaker: number
  readonly firstName: string | null
  readonly lastName: string | null
}

/** @param speakers the known participants; every other speaker is called `Speaker 1` by its number */
export function toFormat(
  format: TextFormat,
  entries: readonly Utterance[],
  speakers: readonly Speaker[] = [],
): string {
  const names = namesOf(speakers)
  return WRITERS[format](entries, (speaker) => names.get(speaker) ?? numbered(speaker))
}

/** One line each, by speaker. Two speakers of the same name get their numbers too, so that they stay apart. */
function namesOf(speakers: readonly Speaker[]): ReadonlyMap<number, string> {
  const named = speakers.flatMap(({ speaker, firstName, lastName }) => {
    const name = `${firstName ?? ''} ${lastName ?? ''}`.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim()
    return name === '' ? [] : [{ speaker, name }]
  })
  const counts = new Map<string, number>()
  for (const { name } of named) counts.set(name, (counts.get(name) ?? 0) + 1)
  return new Map(
    named.map(({ speaker, name }) => [
      speaker,
      (counts.get(name) ?? 0) > 1 ? `${name} (${numbered(speaker)})` : name,
    ]),
  )
}

function numbered(speaker: number): string {
  return `Speaker ${speaker}`
}

/**
 * The format that an `Accept` header (RFC 9110 section 12.5.1) likes best among those that there are: the highest weight, then
 * the earliest. JSON where it names none of them.
 */
export function formatOf(accept: string | null): ExportFormat {
  let best: ExportFormat = 'json'
  let weight = 0
  for (const part of (accept ?? '').split(',')) {
    const [type = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase())
    const q = parameters.find((parameter) => parameter.startsWith('q='))
    const value = q === undefined ? 1 : Number(q.slice(2))
    const format = type === '*/*' || type === 'application/*' ? 'json' : formatNamed(type)
    if (format === null || !(value > weight)) continue
    best = format
    weight = value
  }
  return best
}

function formatNamed(type: string): ExportFormat | null {
  const found = Object.entries(MEDIA_TYPES).find(([, mediaType]) => mediaType === type)
  return (found?.[0] as ExportFormat | undefined) ?? null
}

/** WebVTT (W3C): one cue an entry, the speaker as its voice. */
function toVtt(entries: readonly Utterance[], nameOf: NameOf): string {
  const cues = entries.map((entry) => {
    const text = linesOf(entry.text).map(escapeVtt).join('\n')
    return `${times(entry, '.')}\n<v ${escapeVtt(nameOf(entry.speaker))}>${text}</v>\n`
  })
  return ['WEBVTT\n', ...cues].join('\n')
}

/** `<` and `&` begin markup, and `-->` would begin a cue. */
function escapeVtt(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

function toSrt(entries: readonly Utterance[], nameOf: NameOf): string {
  return entries
    .map((entry, index) => {
      const text = `${nameOf(entry.speaker)}: ${linesOf(entry.text).join('\n')}`.replaceAll('-->', '→')
      return `${index + 1}\n${times(entry, ',')}\n${text}\n`
    })
    .join('\n')
}

/** For people and language models: one line an entry. */
function toText(entries: readonly Utterance[], nameOf: NameOf): string {
  return entries
    .map((entry) => {
      const [time] = timestamp(milliseconds(entry.startSec), '.').split('.')
      return `[${time}] ${nameOf(entry.speaker)}: ${linesOf(entry.text).join(' ')}\n`
    })
    .join('')
}

/** Without blank lines, which end a cue in both formats. */
function linesOf(text: string): readonly string[] {
  return text.split(/[\r\n\u2028\u2029]+/).filter((line) => line.trim() !== '')
}

/** A cue that ends when it begins is not allowed in WebVTT and not shown by SubRip players: it gets a millisecond. */
function times({ startSec, endSec }: Utterance, separator: string): string {
  const start = milliseconds(startSec)
  const end = milliseconds(endSec)
  return `${timestamp(start, separator)} --> ${timestamp(end > start ? end : start + 1n, separator)}`
}

/** Rounded to the nearest. Seconds that have more milliseconds than a number counts are whole ones. */
function milliseconds(seconds: number): bigint {
  const rounded = Math.round(seconds * 1000)
  return Number.isSafeInteger(rounded) ? BigInt(rounded) : BigInt(Math.round(seconds)) * 1000n
}

/** `HH:MM:SS` with milliseconds; as many digits of hours as it takes, at least two. */
function timestamp(total: bigint, separator: string): string {
  const digits = (value: bigint, width: number) => String(value).padStart(width, '0')
  const hours = digits(total / 3_600_000n, 2)
  const minutes = digits((total / 60_000n) % 60n, 2)
  const seconds = digits((total / 1000n) % 60n, 2)
  return `${hours}:${minutes}:${seconds}${separator}${digits(total % 1000n, 3)}`
}
