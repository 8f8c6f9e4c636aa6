/** The request parameters of an OpenAI-compatible server, by model name, and the meaning of its answers. Pure. */
import type { Segment } from './segment.ts'

export interface Protocol {
  /** Form fields besides file and model. */
  readonly fields: readonly (readonly [name: string, value: string])[]
  /** Longest audio for one request. */
  readonly pieceSeconds: number
  /** Whether the model labels speakers and accepts reference clips of them. */
  readonly hasLabels: boolean
}

const PIECE_SECONDS = 20 * 60
/** The answer is text without times, so each piece gets the times of its audio. */
const UNTIMED_PIECE_SECONDS = 60

/** Models that label speakers, OpenAI models that return text only, and all others, which are treated as Whisper. */
export function protocolOf(model: string): Protocol {
  if (/diari[sz]e/i.test(model)) {
    const fields = [
      ['response_format', 'diarized_json'],
      ['chunking_strategy', 'auto'],
    ] as const
    return { fields, pieceSeconds: PIECE_SECONDS, hasLabels: true }
  }
  if (/^gpt-/i.test(model))
    return { fields: [['response_format', 'json']], pieceSeconds: UNTIMED_PIECE_SECONDS, hasLabels: false }
  const fields = [
    ['response_format', 'verbose_json'],
    ['timestamp_granularities[]', 'segment'],
  ] as const
  return { fields, pieceSeconds: PIECE_SECONDS, hasLabels: false }
}

interface Span {
  readonly startSec: number
  readonly endSec: number
}

/** Converts times of a piece to times of the whole. A segment without times lasts as long as the piece. */
export function shifted(segments: readonly Segment[], { startSec, endSec }: Span): readonly Segment[] {
  const move = (seconds: number | null, otherwise: number) =>
    seconds === null ? otherwise : Math.min(startSec + Math.max(seconds, 0), endSec)
  return segments.map((segment) => ({
    ...segment,
    startSec: move(segment.startSec, startSec),
    endSec: move(segment.endSec, endSec),
  }))
}

/** A reference clip of a speaker, as a data URL. */
export interface SpeakerSample {
  readonly name: string
  readonly url: string
}

/** The protocol accepts reference clips of up to four speakers, of 2 to 10 seconds each. */
const MAX_SPEAKERS = 4
const MIN_SAMPLE_SECONDS = 2
const MAX_SAMPLE_SECONDS = 10

/** Reference clips for new speakers: the longest segment of each. */
export function referencesOf(
  segments: readonly Segment[],
  piece: Span,
  known: readonly string[],
): readonly (Span & { readonly name: string })[] {
  const longest = new Map<string, Span>()
  for (const { speaker, startSec, endSec } of segments) {
    if (speaker === null || known.includes(speaker)) continue
    const span = { startSec: startSec ?? piece.startSec, endSec: endSec ?? piece.endSec }
    const before = longest.get(speaker)
    if (before === undefined || lengthOf(span) > lengthOf(before)) longest.set(speaker, span)
  }
  return [...longest]
    .filter(([, span]) => lengthOf(span) >= MIN_SAMPLE_SECONDS)
    .slice(0, Math.max(0, MAX_SPEAKERS - known.length))
    .map(([name, { startSec, endSec }]) => ({
      name,
      startSec,
      endSec: Math.min(endSec, startSec + MAX_SAMPLE_SECONDS),
    }))
}

const lengthOf = ({ startSec, endSec }: Span) => endSec - startSec
