/** What is asked of an OpenAI-compatible server, by the name of its model, and what its answers mean. Pure. */
import type { Segment } from './output.rules.ts'

export interface Wanted {
  /** Of the form, besides file and model. */
  readonly fields: readonly (readonly [name: string, value: string])[]
  /** The longest sound for one request. */
  readonly pieceSeconds: number
  /** Whether it says who speaks, and may be told how somebody sounds. */
  readonly hasLabels: boolean
}

const PIECE_SECONDS = 20 * 60
/** Where the answer is text without times, the pieces are what has times. */
const UNTIMED_PIECE_SECONDS = 60

/** Models that tell speakers apart, those of OpenAI that give text alone, and all others, which are taken for Whisper. */
export function protocolOf(model: string): Wanted {
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

/** Times of a piece into those of the whole. What has none lasts as long as the piece. */
export function shifted(segments: readonly Segment[], { startSec, endSec }: Span): readonly Segment[] {
  const move = (seconds: number | null, otherwise: number) =>
    seconds === null ? otherwise : Math.min(startSec + Math.max(seconds, 0), endSec)
  return segments.map((segment) => ({
    ...segment,
    startSec: move(segment.startSec, startSec),
    endSec: move(segment.endSec, endSec),
  }))
}

/** How somebody sounds, as a data URL. */
export interface SpeakerSample {
  readonly name: string
  readonly url: string
}

/** The protocol takes samples of up to four speakers, of 2 to 10 seconds each. */
const MAX_SPEAKERS = 4
const MIN_SAMPLE_SECONDS = 2
const MAX_SAMPLE_SECONDS = 10

/** Where speakers that are not known yet are heard best: in the longest of what each said. */
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
