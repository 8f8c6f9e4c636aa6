/**
 * Converts segments to the transcript of a recording (specification, "Utterance" and "Limits"). Pure.
 *
 * The result is always a transcript that a caller could have supplied: ordered, within the limits, and without overlaps
 * of one speaker. Words matter more than times: only text beyond the limits is dropped, and counted.
 */
import {
  MAX_TRANSCRIPT_CHARACTERS,
  MAX_UTTERANCE_CHARACTERS,
  MAX_UTTERANCES,
  type Utterance,
} from '../transcripts/model.ts'
import type { Segment } from './segment.ts'

export interface FittedTranscript {
  readonly utterances: readonly Utterance[]
  /** The label of each speaker number; null: the output named none. */
  readonly speakers: readonly (string | null)[]
  /** Number of utterances dropped because of the limits. */
  readonly leftOut: number
}

/** `durationSeconds`: length of the audio; null if unknown. */
export function toUtterances(segments: readonly Segment[], durationSeconds: number | null): FittedTranscript {
  const timed = timedSegments(segments, durationSeconds).toSorted((a, b) => a.from - b.from)
  const { utterances, speakers } = numbered(timed)
  return { ...fit(withoutOverlaps(inOrder(utterances.flatMap(splitLong)))), speakers }
}

function inOrder<T extends Pick<Utterance, 'startSec'>>(list: readonly T[]): readonly T[] {
  return list.toSorted((a, b) => a.startSec - b.startSec)
}

/** Times beyond this are errors, even if the length of the audio is unknown. */
const LONGEST_SECONDS = 1_000_000

/** `from`: the start as the program says it. What begins before the sound stands before what begins with it. */
type Timed = Segment & Pick<Utterance, 'startSec' | 'endSec'> & { readonly from: number }

/** A segment without a start follows the previous one. A segment without an end lasts to the end. */
function timedSegments(segments: readonly Segment[], durationSeconds: number | null): readonly Timed[] {
  const last = durationSeconds ?? LONGEST_SECONDS
  let previousEnd = 0
  return segments.flatMap((segment) => {
    const text = cleanText(segment.text)
    if (text === '') return []
    const [from, to] = inDirection(segment)
    const startSec = clamp(from ?? previousEnd, 0, last)
    const endSec = clamp(to ?? durationSeconds ?? startSec, startSec, last)
    previousEnd = endSec
    const times = { startSec: toMilliseconds(startSec), endSec: toMilliseconds(endSec) }
    const isEarly = from !== null && Number.isFinite(from) && from < startSec
    return [{ ...segment, ...times, text, from: isEarly ? from : startSec }]
  })
}

/** Some programs exchange start and end of a segment. */
function inDirection({ startSec, endSec }: Segment): readonly [from: number | null, to: number | null] {
  return startSec !== null && endSec !== null && endSec < startSec ? [endSec, startSec] : [startSec, endSec]
}

/**
 * The text on one line that the database can store; '' if nothing is left. White space other than the blank is replaced first,
 * so that single blanks, which separate most words, are not replaced by themselves.
 */
function cleanText(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[\p{Cc}\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]+/gu, ' ')
    .replaceAll(/ {2,}/g, ' ')
    .trim()
}

function clamp(value: number, least: number, most: number): number {
  return Number.isFinite(value) ? Math.min(Math.max(value, least), Math.max(least, most)) : least
}

const toMilliseconds = (seconds: number) => Math.round(seconds * 1_000) / 1_000

/** 0, 1, 2 in the order in which labels appear. Without labels, every speaker is 0. */
function numbered(segments: readonly Timed[]): Pick<FittedTranscript, 'utterances' | 'speakers'> {
  const numbers = new Map<string | null, number>()
  const utterances = segments.map(({ startSec, endSec, text, speaker: label }) => {
    const speaker = numbers.get(label) ?? numbers.size
    numbers.set(label, speaker)
    return { startSec, endSec, text, speaker }
  })
  return { utterances, speakers: [...numbers.keys()] }
}

/** Ends an utterance where its speaker's next one begins. Input and output are ordered. */
function withoutOverlaps(utterances: readonly Utterance[]): readonly Utterance[] {
  const result = [...utterances]
  const latest = new Map<number, number>()
  for (const [index, { startSec, speaker }] of utterances.entries()) {
    const before = latest.get(speaker)
    const earlier = before === undefined ? undefined : result[before]
    if (before !== undefined && earlier !== undefined && earlier.endSec > startSec)
      result[before] = { ...earlier, endSec: startSec }
    latest.set(speaker, index)
  }
  return result
}

/** Splits at spaces if there are any. Each part gets time in proportion to its characters. */
function splitLong(utterance: Utterance): readonly Utterance[] {
  const { text, startSec, endSec } = utterance
  if (text.length <= MAX_UTTERANCE_CHARACTERS) return [utterance]
  const characters = charactersIn(text, 0, text.length)
  const parts: Utterance[] = []
  const at = (count: number) => toMilliseconds(startSec + ((endSec - startSec) * count) / characters)
  let before = 0
  for (let from = 0; from < text.length; ) {
    const most = skipCharacters(text, from, MAX_UTTERANCE_CHARACTERS)
    const to = most < text.length ? lastBlank(text, from, most) : text.length
    const after = before + charactersIn(text, from, to)
    const part = text.slice(from, to).trim()
    if (part !== '') parts.push({ ...utterance, startSec: at(before), endSec: at(after), text: part })
    from = to
    before = after
  }
  return parts
}

/** The last blank after `from` and not after `most`; `most` if there is none. */
function lastBlank(text: string, from: number, most: number): number {
  for (let at = most; at > from; at--) if (text[at] === ' ') return at
  return most
}

const isLowSurrogate = (unit: number) => unit >= 0xdc00 && unit <= 0xdfff

/** The code points between two indices of a well-formed text. (An array of them takes many times as long.) */
function charactersIn(text: string, from: number, to: number): number {
  let count = 0
  for (let at = from; at < to; at++) if (!isLowSurrogate(text.charCodeAt(at))) count++
  return count
}

/** The index that is so many code points after `from`, or the end of the text. */
function skipCharacters(text: string, from: number, count: number): number {
  let at = from
  for (let left = count; left > 0 && at < text.length; left--)
    at += isLowSurrogate(text.charCodeAt(at + 1)) ? 2 : 1
  return at
}

function fit(utterances: readonly Utterance[]): Omit<FittedTranscript, 'speakers'> {
  const joined = joinNeighbours(utterances)
  let characters = 0
  const fitting = joined.slice(0, MAX_UTTERANCES).filter(({ text }) => {
    characters += text.length
    // There are at least as many code units as code points, which the limit counts.
    return characters <= MAX_TRANSCRIPT_CHARACTERS
  })
  return { utterances: fitting, leftOut: joined.length - fitting.length }
}

/** If there are too many, joins neighbours of one speaker, starting with the smallest gaps. */
function joinNeighbours(utterances: readonly Utterance[]): readonly Utterance[] {
  let list = utterances
  for (;;) {
    const excess = list.length - MAX_UTTERANCES
    if (excess <= 0) return list
    const gaps = list
      .flatMap((utterance, index) => {
        const next = list[index + 1]
        return next !== undefined && mayJoin(utterance, next)
          ? [{ index, seconds: next.startSec - utterance.endSec }]
          : []
      })
      .toSorted((a, b) => a.seconds - b.seconds)
    if (gaps.length === 0) return list
    list = joinAt(list, new Set(gaps.slice(0, excess).map(({ index }) => index)))
  }
}

function mayJoin(a: Utterance, b: Utterance): boolean {
  return a.speaker === b.speaker && a.text.length + 1 + b.text.length <= MAX_UTTERANCE_CHARACTERS
}

/** Joins each of these with the next one if the text fits. */
function joinAt(list: readonly Utterance[], joints: ReadonlySet<number>): readonly Utterance[] {
  const result: Utterance[] = []
  for (const [index, utterance] of list.entries()) {
    const before = result.at(-1)
    if (before !== undefined && joints.has(index - 1) && mayJoin(before, utterance))
      result[result.length - 1] = {
        ...before,
        endSec: Math.max(before.endSec, utterance.endSec),
        text: `${before.text} ${utterance.text}`,
      }
    else result.push(utterance)
  }
  return result
}
