/** The outcome of a conversation and the sentiment at its end, out of its findings. Pure. */
import type { Found, Kind, Outcome, Sentiment } from '../insight.ts'
import { type Scored, scoreOf } from './combine.rules.ts'
import { NO_LUCK } from './cues/turns.ts'
import type { Reading } from './reading.rules.ts'

export interface Judgement {
  readonly outcome: Outcome | null
  readonly sentiment: Sentiment
}

/** Findings after which a matter stands open. */
const OPEN: ReadonlySet<Kind> = new Set([
  'bug_report',
  'complaint',
  'confusion',
  'human_requested',
  'churn_risk',
  'wrong_answer',
  'repeated_problem',
])
const PLEASED: ReadonlySet<Kind> = new Set(['praise', 'resolved_confirmation'])

/**
 * From these scores on a piece of the last message counts for the outcome, or of any message for the sentiment. They are lower than for a
 * finding, because several kinds mean the same.
 */
const CLEARLY_SOLVED = 0.4
const CLEARLY_OPEN = 0.4
const CLEARLY_PLEASED = 0.4

/** Words with which a company does not help. */
const REFUSAL =
  /\b(?:can't|cannot|can not|unable to|not able to) (?:help|assist|answer|do that|process|find)|don't (?:have|know) (?:that|the answer|any information)|no (?:agents?|one) (?:is |are )?available/i

/** Outcome (null for feedback) and sentiment. */
export function judge(reading: Reading, findings: readonly Found[], scored: readonly Scored[]): Judgement {
  const open = lastOf(findings, OPEN)
  const pleased = lastOf(findings, PLEASED)
  if (reading.channel === 'feedback') {
    const sentiment = sentimentOfFeedback(findings, open, pleased)
    return { outcome: null, sentiment: sentiment === 'neutral' ? sentimentByScores(scored) : sentiment }
  }
  const judgement = judgeByFindings(reading, findings, open, pleased)
  if (judgement.outcome !== 'unclear') return judgement
  const closer = judgeByStance(reading, scored) ?? judgeByRefusal(reading, findings) ?? judgement
  return closer.sentiment === 'neutral' && open === null
    ? { ...closer, sentiment: sentimentByScores(scored) }
    : closer
}

/** What the pieces say together where no finding says it. */
function sentimentByScores(scored: readonly Scored[]): Sentiment {
  const bad = highest(scored, OPEN)
  const good = highest(scored, PLEASED)
  if (bad >= CLEARLY_OPEN && bad > good) return 'negative'
  return good >= CLEARLY_PLEASED && good > bad ? 'positive' : 'neutral'
}

function highest(scored: readonly Scored[], kinds: ReadonlySet<Kind>): number {
  return Math.max(0, ...scored.flatMap((one) => [...kinds].map((kind) => scoreOf(one, kind))))
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
  const onlyLeaves = findings.filter(({ kind }) => OPEN.has(kind)).every(({ kind }) => kind === 'churn_risk')
  return { outcome: onlyLeaves ? 'unclear' : 'unresolved', sentiment: 'negative' }
}

/** What the customer's last message says to the words of the company before it. Null if it says neither. */
function judgeByStance({ messages }: Reading, scored: readonly Scored[]): Judgement | null {
  const last = messages.at(-1)
  if (last === undefined || last.reply === null || last.isPolite || last.isTask) return null
  const mine = scored.filter(({ piece }) => piece.index === last.index)
  const bad = highest(mine, OPEN)
  const good = highest(mine, SOLVED)
  if (good >= CLEARLY_SOLVED && good > bad) return { outcome: 'resolved', sentiment: 'positive' }
  if (bad >= CLEARLY_OPEN && bad > good && bad > highest(mine, ASKED))
    return { outcome: 'unresolved', sentiment: 'negative' }
  return null
}

/** A question that the company did not answer stands open. */
function judgeByRefusal({ endsWithReply, lastReply }: Reading, findings: readonly Found[]): Judgement | null {
  const isAsked = findings.some(({ kind }) => kind === 'question' || OPEN.has(kind))
  return isAsked && endsWithReply && lastReply !== null && REFUSAL.test(lastReply)
    ? { outcome: 'unresolved', sentiment: 'neutral' }
    : null
}

const SOLVED: ReadonlySet<Kind> = new Set(['resolved_confirmation'])
const ASKED: ReadonlySet<Kind> = new Set(['question', 'feature_request'])

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
