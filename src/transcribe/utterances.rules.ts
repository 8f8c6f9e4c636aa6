/**
 * Segments into the transcript of a recording (specification, "Utterance" and "Limits"). Pure.
 *
 * The rule: whatever comes in, what comes out is a transcript that a caller could have supplied: ordered, in the limits, nobody
 * talks over themselves. Words are kept before times: only what is beyond the limits is left out, and counted.
 */
import {
  MAX_TRANSCRIPT_CHARACTERS,
  MAX_UTTERANCE_CHARACTERS,
  MAX_UTTERANCES,
  type Utterance,
} from '../transcripts/model.ts'
import type { Segment } from './output.rules.ts'

export interface FittedTranscript {
  readonly utterances: readonly Utterance[]
  /** Utterances that the limits left no room for. */
  readonly leftOut: number
}

/** `durationSeconds` of the sound that the times belong to; null where it is not known. */
export function toUtterances(segments: readonly Segment[], durationSeconds: number | null): FittedTranscript {
  const timed = inOrder(timedSegments(segments, durationSeconds))
  return fit(withoutOverlaps(inOrder(numbered(timed).flatMap(splitLong))))
}

function inOrder<T extends Pick<Utterance, 'startSec'>>(list: readonly T[]): readonly T[] {
  return list.toSorted((a, b) => a.startSec - b.startSec)
}

/** No sound of unknown length is longer: numbers beyond are mistakes. */
const LONGEST_SECONDS = 1_000_000

type Timed = Segment & Pick<Utterance, 'startSec' | 'endSec'>

/** What does not say when it began follows the one before; what does not say when it ended lasts to the end. */
function timedSegments(segments: readonly Segment[], durationSeconds: number | null): readonly Timed[] {
  const last = durationSeconds ?? LONGEST_SECONDS
  let previousEnd = 0
  return segments.flatMap((segment) => {
    const text = cleanText(segment.text)
    if (text === '') return []
    const startSec = clamp(segment.startSec ?? previousEnd, 0, last)
    const endSec = clamp(segment.endSec ?? durationSeconds ?? startSec, startSec, last)
    previousEnd = endSec
    return [{ ...segment, text, startSec: toMilliseconds(startSec), endSec: toMilliseconds(endSec) }]
  })
}

/** One line that can be stored; '' where nothing is said. */
function cleanText(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim()
}

function clamp(value: number, least: number, most: number): number {
  return Number.isFinite(value) ? Math.min(Math.max(value, least), Math.max(least, most)) : least
}

const toMilliseconds = (seconds: number) => Math.round(seconds * 1_000) / 1_000

/** 0, 1, 2 in the order in which the labels appear. Without any label everybody is 0. */
function numbered(segments: readonly Timed[]): readonly Utterance[] {
  const numbers = new Map<string | null, number>()
  return segments.map(({ startSec, endSec, text, speaker: label }) => {
    const speaker = numbers.get(label) ?? numbers.size
    numbers.set(label, speaker)
    return { startSec, endSec, text, speaker }
  })
}

/** Whoever goes on speaking has ended what they said before. Takes and gives them in order. */
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

/** Between words where there are any; the time is shared out by the number of characters. */
function splitLong(utterance: Utterance): readonly Utterance[] {
  const { text, startSec, endSec } = utterance
  if (text.length <= MAX_UTTERANCE_CHARACTERS) return [utterance]
  const characters = [...text]
  const parts: Utterance[] = []
  const at = (index: number) => toMilliseconds(startSec + ((endSec - startSec) * index) / characters.length)
  for (let from = 0; from < characters.length; ) {
    const most = from + MAX_UTTERANCE_CHARACTERS
    const to = most < characters.length ? lastBlank(characters, from, most) : characters.length
    const part = characters.slice(from, to).join('').trim()
    if (part !== '') parts.push({ ...utterance, startSec: at(from), endSec: at(to), text: part })
    from = to
  }
  return parts
}

/** The last blank behind `from`, at `most` or before it; `most` where there is none. Looks at nothing before `from`. */
function lastBlank(characters: readonly string[], from: number, most: number): number {
  for (let at = most; at > from; at--) if (characters[at] === ' ') return at
  return most
}

function fit(utterances: readonly Utterance[]): FittedTranscript {
  const joined = joinNeighbours(utterances)
  let characters = 0
  const fitting = joined.slice(0, MAX_UTTERANCES).filter(({ text }) => {
    characters += text.length
    // Code units, of which there are never fewer than of the characters that the limit counts.
    return characters <= MAX_TRANSCRIPT_CHARACTERS
  })
  return { utterances: fitting, leftOut: joined.length - fitting.length }
}

/** Where there are too many, neighbours of one speaker become one, the closest first. */
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

/** Joins each of these with the one behind it, as long as the text fits. */
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
