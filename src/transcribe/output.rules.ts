/**
 * Parses the output of transcription programs and servers. Pure.
 *
 * Supported are JSON (of OpenAI and compatible servers, of whisper.cpp, and utterances of this service), WebVTT,
 * SubRip, lines that begin with `[from --> to]`, and plain text.
 */

/** Spoken text with times in seconds. null: the output does not state that value. */
export interface Segment {
  readonly startSec: number | null
  readonly endSec: number | null
  readonly speaker: string | null
  readonly text: string
}

/** @returns null for other JSON, and for text that begins like JSON but is invalid */
export function parseOutput(output: string): readonly Segment[] | null {
  const text = output.replace(/^\uFEFF/, '').trim()
  if (/^[{[]/.test(text)) {
    const value = parseJson(text)
    if (value !== undefined) return segmentsOf(value)
    if (text.startsWith('{')) return null
  }
  const lines = text.split(/\r\n|\r|\n/)
  if (text.startsWith('WEBVTT') || lines.slice(0, 3).some((line) => cueTimes(line) !== null))
    return parseCues(lines)
  const stamped = lines.flatMap((line) => stampedLine(line))
  return stamped.length > 0 ? stamped : [untimed(lines.join(' '))]
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

type Members = Readonly<Record<string, unknown>>

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const untimed = (text: string): Segment => ({ startSec: null, endSec: null, speaker: null, text })

/** The segments, under any of the known member names; otherwise the whole text. */
function segmentsOf(value: unknown): readonly Segment[] | null {
  if (Array.isArray(value)) return value.filter(isObject).flatMap(segmentOf)
  if (!isObject(value)) return null
  const list = [value.segments, value.utterances, value.transcription].find(Array.isArray)
  const segments = list?.filter(isObject).flatMap(segmentOf) ?? []
  if (segments.length > 0) return segments
  if (typeof value.text === 'string') return [untimed(value.text)]
  return list === undefined ? null : []
}

function segmentOf(value: Members): readonly Segment[] {
  const { text, speaker, offsets, timestamps } = value
  if (typeof text !== 'string') return []
  return [
    {
      startSec: secondsOf(value.start ?? value.startSec) ?? within(offsets, timestamps, 'from'),
      endSec: secondsOf(value.end ?? value.endSec) ?? within(offsets, timestamps, 'to'),
      speaker: typeof speaker === 'string' || typeof speaker === 'number' ? String(speaker) || null : null,
      text,
    },
  ]
}

/** Times of whisper.cpp: milliseconds, or text. */
function within(offsets: unknown, timestamps: unknown, member: 'from' | 'to'): number | null {
  const milliseconds = isObject(offsets) ? secondsOf(offsets[member]) : null
  if (milliseconds !== null) return milliseconds / 1_000
  return isObject(timestamps) ? secondsOf(timestamps[member]) : null
}

const TIME = '(?:(\\d{1,4}):)?(\\d{1,2}):(\\d{1,2})(?:[.,](\\d{1,9}))?'
const ONE_TIME = new RegExp(`^${TIME}$`)
const CUE = new RegExp(`^\\s*${TIME}\\s+-->\\s+${TIME}(?:\\s|$)`)
const STAMPED = new RegExp(`^\\s*\\[${TIME}\\s+-->\\s+${TIME}\\]\\s*(\\S.*)?$`)

function secondsOf(value: unknown): number | null {
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  if (typeof value !== 'string') return null
  const time = ONE_TIME.exec(value.trim())
  if (time !== null) return clock(time.slice(1, 5))
  return /^\d+(?:\.\d+)?$/.test(value.trim()) ? Number(value) : null
}

/** Hours, minutes, seconds and decimals as written. */
function clock([hours = '0', minutes = '0', seconds = '0', decimals = '0']: readonly (
  | string
  | undefined
)[]): number {
  return Number(hours) * 3_600 + Number(minutes) * 60 + Number(`${seconds}.${decimals}`)
}

function cueTimes(line: string): readonly [from: number, to: number] | null {
  const found = line.includes('-->') ? CUE.exec(line) : null
  return found === null ? null : [clock(found.slice(1, 5)), clock(found.slice(5, 9))]
}

function stampedLine(line: string): readonly Segment[] {
  const found = line.includes('-->') ? STAMPED.exec(line) : null
  if (found === null) return []
  return [
    { startSec: clock(found.slice(1, 5)), endSec: clock(found.slice(5, 9)), ...labelled(found[9] ?? '') },
  ]
}

/** WebVTT and SubRip: a line with times, then text up to the next blank line. */
function parseCues(lines: readonly string[]): readonly Segment[] {
  const segments: Segment[] = []
  for (let index = 0; index < lines.length; index++) {
    const times = cueTimes(lines[index] ?? '')
    if (times === null) continue
    const text: string[] = []
    while (index + 1 < lines.length && lines[index + 1]?.trim() !== '') text.push(lines[++index] ?? '')
    const [startSec, endSec] = times
    for (const voice of voicesOf(text.join(' '))) segments.push({ startSec, endSec, ...voice })
  }
  return segments
}

type Voice = Pick<Segment, 'speaker' | 'text'>

/** `<v Anna>`, once for each speaker of a cue (WebVTT, section 3.2). */
function voicesOf(text: string): readonly Voice[] {
  const [before = '', ...voices] = text.split(/<v(?:\.[^\s<>]*)?\s+/)
  const spoken = voices.map((voice) => {
    const end = voice.indexOf('>')
    return { speaker: plain(voice.slice(0, end)).trim(), text: plain(voice.slice(end + 1)) }
  })
  return plain(before).trim() === '' && spoken.length > 0 ? spoken : [labelled(plain(before)), ...spoken]
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  nbsp: ' ',
  lrm: '\u200E',
  rlm: '\u200F',
}

/** Removes tags and entities. A tag is short; other text in angle brackets was spoken. */
function plain(text: string): string {
  return text
    .replaceAll(/<\/?[a-zA-Z0-9:.][^<>]{0,100}>|<\/?[a-zA-Z]>/g, '')
    .replaceAll(/&(amp|lt|gt|quot|nbsp|lrm|rlm);/g, (_, name: string) => ENTITIES[name] ?? '')
}

const LABEL = /^\s*(?:\[(SPEAKER[_ ]?\w{1,20})\]:?|\((speaker \w{1,20})\)|(SPEAKER_\w{1,20}):)\s*/i

/** `[SPEAKER_00]: …` and `(speaker 0) …`, from programs whose format has no member for speakers. */
function labelled(text: string): Voice {
  const found = LABEL.exec(text)
  if (found === null) return { speaker: null, text }
  return { speaker: found[1] ?? found[2] ?? found[3] ?? null, text: text.slice(found[0].length) }
}
