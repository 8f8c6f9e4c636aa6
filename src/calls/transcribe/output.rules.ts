/**
 * Parses the output of transcription programs and servers. Pure.
 *
 * Supported are JSON (of OpenAI and compatible servers, of whisper.cpp, and utterances of this service), WebVTT,
 * SubRip, lines that begin with `[from --> to]`, tables of Whisper and whisper.cpp, and plain text.
 */
import { encodingOf } from '../../platform/text/encoding.rules.ts'
import { findJson, isCutJson } from './json-output.rules.ts'
import { isLogAt } from './log-lines.rules.ts'
import type { Segment } from './segment.ts'
import { parseTable } from './table-output.rules.ts'

/** Text of a program, in UTF-8 or UTF-16. */
export const decodeOutput = (bytes: Uint8Array): string => new TextDecoder(encodingOf(bytes)).decode(bytes)

/** @returns null for what is no transcript: other or invalid JSON, and times of an unknown form */
export function parseOutput(output: string): readonly Segment[] | null {
  const text = output
    .replace(/^\uFEFF/, '')
    .replaceAll(/\r+\n?/g, '\n')
    .trim()
  const lines = text.split('\n')
  const value = findJson(text, lines)
  const segments = value === undefined ? null : segmentsOf(value)
  const isTimed = segments?.some(({ startSec }) => startSec !== null) === true
  if (segments !== null && segments.length > 0 && (isTimed || !Array.isArray(value))) return segments
  // A list in JSON without times, beside lines with times, is a log.
  if (text.startsWith('WEBVTT') || lines.some((line) => cueTimes(line) !== null)) return parseCues(lines)
  const stamped = lines.flatMap((line) => stampedLine(line))
  if (stamped.some(({ startSec }) => startSec !== null)) return stamped
  if (value !== undefined || lines.some(isCutJson)) return segments
  const table = parseTable(lines)
  if (table !== undefined) return table
  // Times that are not understood must not become words.
  const hasTimes = (line: string) =>
    OTHER_TIMES.test(line) || isOtherTimes(line) || stampedLine(line).length > 0
  return lines.some(hasTimes) ? null : [untimed(lines.join(' '))]
}

type Members = Readonly<Record<string, unknown>>

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const untimed = (text: string): Segment => ({ startSec: null, endSec: null, speaker: null, text })

/** The segments, under any of the known member names; otherwise the whole text. */
function segmentsOf(value: unknown): readonly Segment[] | null {
  if (Array.isArray(value)) {
    const segments = value.filter(isObject).flatMap((one) => {
      const inside = segmentsIn(one) ?? []
      return inside.length > 0 ? inside : segmentOf(one)
    })
    // Objects without any list of segments are a log. An empty list is sound without words.
    const isTranscript = value.length === 0 || value.some((one) => isObject(one) && segmentsIn(one) !== null)
    return segments.length > 0 || isTranscript ? segments : null
  }
  if (!isObject(value)) return null
  const segments = segmentsIn(value)
  if (segments !== null && segments.length > 0) return segments
  return typeof value.text === 'string' ? [untimed(value.text)] : segments
}

/** null: there is no list of segments. */
function segmentsIn(value: Members): readonly Segment[] | null {
  const list = [value.segments, value.utterances, value.transcription, value.chunks].find(Array.isArray)
  return list?.filter(isObject).flatMap(segmentOf) ?? null
}

function segmentOf(value: Members): readonly Segment[] {
  const { text, speaker, offsets, timestamps, timestamp } = value
  if (typeof text !== 'string') return []
  const [from, to] = Array.isArray(timestamp) ? (timestamp as readonly unknown[]) : []
  return [
    {
      startSec: secondsOf(value.start ?? value.startSec ?? from) ?? within(offsets, timestamps, 'from'),
      endSec: secondsOf(value.end ?? value.endSec ?? to) ?? within(offsets, timestamps, 'to'),
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

/** A sign, hours, minutes, seconds and decimals. Programs write decimals behind a dot, a comma or a colon. */
const TIME = '(-?)(?:(\\d{1,4}):)?(\\d{1,2}):(\\d{1,2})(?:[.,:](\\d{1,9}))?'
const GROUPS = 5
const ONE_TIME = new RegExp(`^${TIME}$`)
const CUE = new RegExp(`^\\s*${TIME}\\s*-->\\s*${TIME}(?:\\s|$)`)
const STAMPED = new RegExp(`^\\s*\\[${TIME}\\s*-->\\s*${TIME}\\]\\s*(\\S.*)?$`)
/** Times that are not understood: anywhere in a line, in the place of a cue's times, and in that of a stamped line's. */
const OTHER_TIMES = /\d[:.,]\d+\s*-->\s*-?\d/
const OTHER_CUE = /^\s*-?\d{1,4}[:.,]\S{0,30}\s*-->\s*\S{1,40}(?:\s|$)/
const OTHER_STAMPED = /^\s*\[-?\d{1,4}[:.,][^\s\]]{0,30}\s*-->[^\]]{0,40}\]\s*(\S.*)?$/

function secondsOf(value: unknown): number | null {
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  if (typeof value !== 'string') return null
  const time = ONE_TIME.exec(value.trim())
  if (time !== null) return clock(time.slice(1))
  return /^\d+(?:\.\d+)?$/.test(value.trim()) ? Number(value) : null
}

/** The groups of `TIME`. */
function clock([sign, hours = '0', minutes = '0', seconds = '0', decimals = '0']: readonly (
  | string
  | undefined
)[]): number {
  const time = Number(hours) * 3_600 + Number(minutes) * 60 + Number(`${seconds}.${decimals}`)
  return sign === '-' ? -time : time
}

function cueTimes(line: string): readonly [from: number, to: number] | null {
  const found = line.includes('-->') ? CUE.exec(line) : null
  return found === null ? null : [clock(found.slice(1)), clock(found.slice(1 + GROUPS))]
}

const isOtherTimes = (line: string) => line.includes('-->') && OTHER_CUE.test(line)

function stampedLine(line: string): readonly Segment[] {
  if (!line.includes('-->')) return []
  const found = STAMPED.exec(line)
  if (found === null) {
    const other = OTHER_STAMPED.exec(line)
    return other === null ? [] : [{ startSec: null, endSec: null, ...labelled(other[1] ?? '') }]
  }
  return [
    {
      startSec: clock(found.slice(1)),
      endSec: clock(found.slice(1 + GROUPS)),
      ...labelled(found[1 + 2 * GROUPS] ?? ''),
    },
  ]
}

interface Cue {
  /** null: not understood. */
  readonly times: readonly [from: number | null, to: number | null]
  readonly lines: readonly string[]
}

const UNKNOWN = [null, null] as const

/** WebVTT and SubRip. A cue has every line up to the next one with times, so that blank lines in it or none between cues lose no words. */
function parseCues(lines: readonly string[]): readonly Segment[] {
  const cues: Cue[] = []
  let isRemark = false
  let text: string[] = []
  for (const [index, line] of lines.entries()) {
    const isBehindBlank = (lines[index - 1] ?? '').trim() === ''
    const times = isRemark ? null : (cueTimes(line) ?? (isOtherTimes(line) ? UNKNOWN : null))
    if (times !== null) {
      if (isIdentifier(text)) text.pop()
      text = []
      cues.push({ times, lines: text })
    } else if (line.trim() === '') {
      isRemark = false
      text.push('')
    } else {
      isRemark ||= REMARK.test(line) && isBehindBlank
      if (!isRemark && !isLogAt(lines, index)) text.push(line)
    }
  }
  return withoutRolling(withoutEnd(cues)).flatMap(({ times: [startSec, endSec], lines }) =>
    voicesOf(lines.filter((line) => line !== '').join(' ')).map((voice) => ({ startSec, endSec, ...voice })),
  )
}

/** The text of the last cue ends with a blank line, as the formats say, unless it is the only one or one before it goes on behind one. */
function withoutEnd(cues: readonly Cue[]): readonly Cue[] {
  const last = cues.at(-1)
  const others = cues.slice(0, -1)
  const goesOn = ({ lines }: Cue) => lines.slice(endOfText(lines)).some((line) => line !== '')
  if (last === undefined || others.length === 0 || others.some(goesOn)) return cues
  return [...others, { ...last, lines: last.lines.slice(0, endOfText(last.lines)) }]
}

/** The place of the first blank line behind words, or behind the last line. */
function endOfText(lines: readonly string[]): number {
  const first = lines.findIndex((line) => line !== '')
  const blank = first === -1 ? -1 : lines.indexOf('', first)
  return blank === -1 ? lines.length : blank
}

/** Blocks of WebVTT that are no cues (section 4.1). */
const REMARK = /^(?:NOTE|STYLE|REGION)(?:\s|$)/

/**
 * Whether the last line before a line with times names the cue that begins: a number, also directly behind words; any line behind a blank one
 * if the cue before has words, else only what cannot be words.
 */
function isIdentifier(text: readonly string[]): boolean {
  const last = text.at(-1)?.trim() ?? ''
  if (last === '') return false
  if (/^\d+$/.test(last)) return true
  if (text.at(-2) !== '') return false
  return (!/\s/.test(last) && /\d/.test(last)) || text.slice(0, -1).some((line) => line !== '')
}

const WORD_TIME = /<\d{1,4}:\d{1,2}[\d:.]*>/

/** Captions that roll repeat the line before above each new one. They have a time at each word. */
function withoutRolling(cues: readonly Cue[]): readonly Cue[] {
  if (!cues.some(({ lines }) => lines.some((line) => WORD_TIME.test(line)))) return cues
  let before: string | null = null
  return cues.map(({ times, lines }) => ({
    times,
    lines: lines.filter((line) => {
      const shown = plain(line).trim()
      if (shown === '' || shown === before) return false
      before = shown
      return true
    }),
  }))
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

/** Removes tags, also those of SubRip's players (`{\an8}`), and entities. A tag is short; other text in brackets was spoken. */
function plain(text: string): string {
  return text
    .replaceAll(/\{\\[a-zA-Z0-9][^{}]{0,100}\}/g, '')
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
