/** From what an analyser found to the findings that are stored. Pure. */
import type { Analyzer, Found, Insight, Kind, Outcome, Said, Sentiment, Tier } from '../analyze/insight.ts'
import { kindsThatSay } from './basis.rules.ts'

export type Version = Pick<Analyzer, 'name' | 'version'>

/** A finding with its quotation, before its place is known. */
export interface Quoted extends Pick<Found, 'kind' | 'rating' | 'tier' | 'confidence'> {
  /** A slice of the customer's own text. */
  readonly quote: string
  /** Number of the message, field or turn that is quoted. */
  readonly index: number
  /** Where the quotation starts in it, in UTF-16 code units. */
  readonly from: number
}

/** The result of one analysis of a subject. */
export interface Result {
  /** `no_words`: the customer said nothing. */
  readonly state: 'analyzed' | 'not_supported' | 'no_words'
  readonly language: string | null
  readonly outcome: Outcome | null
  /** Kinds of findings with which the customer says the outcome. */
  readonly saying: readonly Kind[]
  readonly sentiment: Sentiment | null
  readonly analyzer: Version
  readonly findings: readonly Quoted[]
}

/** A finding as a row of signals of source `qualitative_inference`. What its channel does not have is absent. */
export interface Draft {
  readonly kind: Found['kind']
  readonly rating: Found['rating']
  readonly tier: Tier
  readonly confidence: number
  /** The quotation. */
  readonly comment: string
  /** RFC 3339 text. */
  readonly occurredAt: string
  readonly personId?: number | null
  /** Name of the feedback field. */
  readonly field?: string | null
  /** Of the utterance, in seconds from the start of the recording. */
  readonly startSec?: number | null
  /** The message of the conversation. */
  readonly externalEventId?: string
  readonly sequence?: number
  readonly revision?: number
  /** The last response before the message. */
  readonly targetEventExternalId?: string | null
  readonly participantExternalId?: string | null
  readonly productArea?: string | null
  readonly agentVersion?: string | null
}

/** Maximum length of a quotation in UTF-16 code units. Longer ones are cut. */
const MAX_QUOTE = 300

/**
 * A finding without words is left out.
 * @param said what was analysed, in its order
 * @param endOf where a quotation that starts at `from` must end at the latest
 */
export function resultOf(
  insight: Insight,
  said: readonly Said[],
  asked: Version,
  endOf: (index: number, from: number) => number = () => Number.POSITIVE_INFINITY,
): Result {
  const findings = insight.findings.flatMap(({ from, to, index, kind, rating, tier, confidence }) => {
    const quote = quotationOf(said[index]?.text ?? '', from, Math.min(to, endOf(index, from)))
    return quote === '' ? [] : [{ kind, rating, tier, confidence, quote, index, from }]
  })
  return {
    state: stateOf(insight, said),
    language: insight.language,
    outcome: insight.outcome,
    saying: kindsThatSay(insight.outcome, findings, said),
    sentiment: insight.sentiment,
    analyzer: versionOf(insight, asked),
    findings,
  }
}

function stateOf({ supported }: Pick<Insight, 'supported'>, said: readonly Said[]): Result['state'] {
  if (!said.some(({ own, text }) => !own && text.trim() !== '')) return 'no_words'
  return supported ? 'analyzed' : 'not_supported'
}

/** Who read the subject: the analyser that was asked, or another one in its place. */
function versionOf({ analyzer }: Pick<Insight, 'analyzer'>, asked: Version): Version {
  const { name, version } = analyzer ?? asked
  return { name, version }
}

/** The slice without white space around it. A cut does not divide a surrogate pair. */
function quotationOf(text: string, from: number, to: number): string {
  const quote = text.slice(from, to).trim()
  const end = quote.length > MAX_QUOTE && isHighSurrogate(quote, MAX_QUOTE - 1) ? MAX_QUOTE - 1 : MAX_QUOTE
  return quote.slice(0, end)
}

function isHighSurrogate(text: string, index: number): boolean {
  const unit = text.charCodeAt(index)
  return unit >= 0xd800 && unit <= 0xdbff
}
