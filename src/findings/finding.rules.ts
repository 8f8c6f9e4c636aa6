/** From what an analyser found to the findings that are stored. Pure. */
import type { Analyzer, Found, Insight, Outcome, Sentiment, Tier } from '../analyze/insight.ts'

/** A finding as it is stored: a signal of source `qualitative_inference`. */
export interface NewFinding {
  readonly kind: Found['kind']
  readonly rating: Found['rating']
  readonly tier: Tier
  readonly confidence: number
  /** A slice of the customer's own text. */
  readonly quote: string
  /** Number of the message, field or utterance that is quoted. */
  readonly index: number
}

/** The result of one analysis of a subject, as it is stored. */
export interface Result {
  readonly state: 'analyzed' | 'not_supported'
  readonly language: string | null
  readonly outcome: Outcome | null
  readonly sentiment: Sentiment | null
  readonly analyzer: Pick<Analyzer, 'name' | 'version'>
  readonly findings: readonly NewFinding[]
}

/** Maximum length of a quotation in UTF-16 code units. Longer ones are cut. */
const MAX_QUOTE = 300

/** `texts`: what was analysed, in its order. A finding without words is left out. */
export function resultOf(
  insight: Insight,
  texts: readonly string[],
  { name, version }: Pick<Analyzer, 'name' | 'version'>,
): Result {
  const findings = insight.findings.flatMap(({ from, to, index, kind, rating, tier, confidence }) => {
    const quote = quotationOf(texts[index] ?? '', from, to)
    return quote === '' ? [] : [{ kind, rating, tier, confidence, quote, index }]
  })
  return {
    state: insight.supported ? 'analyzed' : 'not_supported',
    language: insight.language,
    outcome: insight.outcome,
    sentiment: insight.supported ? insight.sentiment : null,
    analyzer: { name, version },
    findings,
  }
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
