/** The outcome of a conversation and the sentiment at its end, out of its findings. Pure. */
import { type Found, type Kind, OPEN_KINDS, type Outcome, type Sentiment } from '../insight.ts'
import { NO_LUCK } from './cues/turns.ts'
import type { Reading } from './reading.rules.ts'

export interface Judgement {
  readonly outcome: Outcome | null
  readonly sentiment: Sentiment
}

const PLEASED: ReadonlySet<Kind> = new Set(['praise', 'resolved_confirmation'])

/** Words with which a company does not help. */
export const REFUSAL =
  /\b(?:can't|cannot|can not|unable to|not able to) (?:help|assist|answer|do that|process|find)|don't (?:have|know) (?:that|the answer|any information)|no (?:agents?|one) (?:is |are )?available/i

/** Outcome (null for feedback) and sentiment. */
export function judge(reading: Reading, findings: readonly Found[]): Judgement {
  const open = lastOf(findings, OPEN_KINDS)
  const pleased = lastOf(findings, PLEASED)
  if (reading.channel === 'feedback')
    return { outcome: null, sentiment: sentimentOfFeedback(findings, open, pleased) }
  const judgement = judgeByFindings(reading, findings, open, pleased)
  return judgement.outcome === 'unclear' ? (judgeByRefusal(reading, findings) ?? judgement) : judgement
}

function sentimentOfFeedback(
  findings: readonly Found[],
  open: Found | null,
  pleased: Found | null,
): Sentiment {
  if (open === null) return pleased === null ? 'neutral' : 'positive'
  if (pleased === null) return 'negative'
  const isSerious = findings.some(({ kind }) => kind === 'churn_risk' || kind === 'bug_report')
  return isSerious ? 'negative' : 'neutral'
}

function judgeByFindings(
  { messages, endsWithReply }: Reading,
  findings: readonly Found[],
  open: Found | null,
  pleased: Found | null,
): Judgement {
  const last = messages.at(-1)
  const has = (kind: Kind) => findings.some((finding) => finding.kind === kind)
  if (has('resolved_confirmation') && (pleased?.kind === 'resolved_confirmation' || !isAfter(open, pleased)))
    return { outcome: 'resolved', sentiment: 'positive' }
  const triedInVain = last?.reply !== null && last?.clauses.some(({ text }) => NO_LUCK.test(text)) === true
  if (triedInVain && (has('question') || open !== null))
    return { outcome: 'unresolved', sentiment: 'negative' }
  if (pleased !== null && !isAfter(open, pleased)) {
    const isPraiseOnly = !has('question') && endsWithReply && open === null && messages.length === 1
    return { outcome: isPraiseOnly ? 'resolved' : 'unclear', sentiment: 'positive' }
  }
  if (open === null) return { outcome: 'unclear', sentiment: 'neutral' }
  if (last?.isPolite === true && last.index > open.index) return { outcome: 'unclear', sentiment: 'neutral' }
  const onlyLeaves = findings
    .filter(({ kind }) => OPEN_KINDS.has(kind))
    .every(({ kind }) => kind === 'churn_risk')
  return { outcome: onlyLeaves ? 'unclear' : 'unresolved', sentiment: 'negative' }
}

/** A question that the company did not answer stands open. */
function judgeByRefusal({ endsWithReply, lastReply }: Reading, findings: readonly Found[]): Judgement | null {
  const isAsked = findings.some(({ kind }) => kind === 'question' || OPEN_KINDS.has(kind))
  return isAsked && endsWithReply && lastReply !== null && REFUSAL.test(lastReply)
    ? { outcome: 'unresolved', sentiment: 'neutral' }
    : null
}

function lastOf(findings: readonly Found[], kinds: ReadonlySet<Kind>): Found | null {
  return findings.reduce<Found | null>(
    (last, finding) => (kinds.has(finding.kind) && !isAfter(last, finding) ? finding : last),
    null,
  )
}

/** True if `a` stands after `b`, or `b` does not exist. */
function isAfter(a: Found | null, b: Found | null): boolean {
  if (a === null) return false
  if (b === null) return true
  return a.index > b.index || (a.index === b.index && a.from > b.from)
}
