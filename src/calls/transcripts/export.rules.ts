/**
 * Transcripts as WebVTT, SubRip and plain text. Pure.
 *
 * Everything spoken stays text. Characters that would end a cue or begin markup are escaped (WebVTT) or, in SubRip,
 * which has no escapes, replaced by similar ones.
 */
import type { ExportFormat, Utterance } from './model.ts'

export type TextFormat = Exclude<ExportFormat, 'json'>

/** Returns a speaker's name in the exported text. */
type NameOf = (speaker: number) => string

const WRITERS: Readonly<Record<TextFormat, (entries: readonly Utterance[], nameOf: NameOf) => string>> = {
  vtt: toVtt,
  srt: toSrt,
  txt: toText,
}

/** Media types by format. WebVTT's is registered. SubRip has no registered type; players use this one. */
export const MEDIA_TYPES: Readonly<Record<ExportFormat, string>> = {
  json: 'application/json',
  vtt: 'text/vtt',
  srt: 'application/x-subrip',
  txt: 'text/plain',
}

/** Name of a participant; members are null if unknown. */
export interface Speaker {
  readonly speaker: number
  readonly firstName: string | null
  readonly lastName: string | null
}

/** @param speakers the known participants; any other speaker is called `Speaker 1`, with its number */
export function toFormat(
  format: TextFormat,
  entries: readonly Utterance[],
  speakers: readonly Speaker[] = [],
): string {
  const names = namesOf(speakers)
  return WRITERS[format](entries, (speaker) => names.get(speaker) ?? numbered(speaker))
}

/** A name for each speaker, on one line. Speakers with equal names also get their numbers. */
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
 * The format that an `Accept` header (RFC 9110 section 12.5.1) prefers: highest weight, then first. JSON if it names
 * none of the formats.
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

/** WebVTT (W3C): one cue per entry, with the speaker as its voice. */
function toVtt(entries: readonly Utterance[], nameOf: NameOf): string {
  const cues = entries.map((entry) => {
    const text = linesOf(entry.text).map(escapeVtt).join('\n')
    return `${times(entry, '.')}\n<v ${escapeVtt(nameOf(entry.speaker))}>${text}</v>\n`
  })
  return ['WEBVTT\n', ...cues].join('\n')
}

/** `<` and `&` begin markup, and `-->` begins a cue. */
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

/** For people and language models: one line per entry. */
function toText(entries: readonly Utterance[], nameOf: NameOf): string {
  return entries
    .map((entry) => {
      const [time] = timestamp(milliseconds(entry.startSec), '.').split('.')
      return `[${time}] ${nameOf(entry.speaker)}: ${linesOf(entry.text).join(' ')}\n`
    })
    .join('')
}

/** Drops blank lines, because they end a cue in both formats. */
function linesOf(text: string): readonly string[] {
  return text.split(/[\r\n\u2028\u2029]+/).filter((line) => line.trim() !== '')
}

/** WebVTT forbids a cue of zero length, and SubRip players do not show it. Such a cue lasts a millisecond. */
function times({ startSec, endSec }: Utterance, separator: string): string {
  const start = milliseconds(startSec)
  const end = milliseconds(endSec)
  return `${timestamp(start, separator)} --> ${timestamp(end > start ? end : start + 1n, separator)}`
}

/** Rounded to the nearest millisecond. Beyond the safe integers, whole seconds. */
function milliseconds(seconds: number): bigint {
  const rounded = Math.round(seconds * 1000)
  return Number.isSafeInteger(rounded) ? BigInt(rounded) : BigInt(Math.round(seconds)) * 1000n
}

/** `HH:MM:SS` with milliseconds. Hours have at least two digits. */
function timestamp(total: bigint, separator: string): string {
  const digits = (value: bigint, width: number) => String(value).padStart(width, '0')
  const hours = digits(total / 3_600_000n, 2)
  const minutes = digits((total / 60_000n) % 60n, 2)
  const seconds = digits((total / 1000n) % 60n, 2)
  return `${hours}:${minutes}:${seconds}${separator}${digits(total % 1000n, 3)}`
}
