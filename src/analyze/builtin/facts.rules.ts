/** What the trained judge sees of a whole subject: what the head says of its pieces, what the rules found, and its form. Pure; bounded. */
import { KINDS, type Kind, OUTCOMES, SENTIMENTS } from '../insight.ts'
import { mayHave, type Scored, scoreOf } from './combine.rules.ts'
import { NO_LUCK } from './cues/turns.ts'
import type { FoundByRule } from './findings.rules.ts'
import { type Judgement, REFUSAL } from './outcome.rules.ts'
import type { Message, Reading } from './reading.rules.ts'

/** Votes beyond this are equally sure. */
const MOST = 5
const THANKS = /\b(?:thanks?|thx|cheers|ta|much appreciated|grateful)\b/u
const ACCEPTS = /^(?:ok|okay|alright|right|fine|got it|understood|noted|will do|i'll|sure|yes|yep|cool)\b/u

/**
 * The facts of a subject. Their order and number are those of the weights in `judge.json`.
 * @param judgement by rules alone
 */
export function factsOf(
  reading: Reading,
  byRules: readonly FoundByRule[],
  scored: readonly Scored[],
  judgement: Judgement,
): Float32Array {
  const { channel, messages, endsWithReply, lastReply } = reading
  const [first, last] = [messages[0], messages.at(-1)]
  const inMessage = (message: Message | undefined) =>
    scored.filter(({ piece }) => piece.index === message?.index)
  const facts = [
    ...KINDS.flatMap((kind) => {
      const votes = votesFor(kind, scored, channel)
      return [
        best(votes),
        votes[1] ?? best(votes),
        mean(votes),
        best(votesFor(kind, inMessage(first), channel)),
      ]
    }),
    ...KINDS.map((kind) => best(votesFor(kind, inMessage(last), channel))),
    ...KINDS.map((kind) => byRules.some((found) => found.kind === kind)),
    byRules.some(({ isCertain }) => isCertain),
    channel === 'feedback',
    channel === 'recording',
    ...OUTCOMES.map((outcome) => judgement.outcome === outcome),
    ...SENTIMENTS.map((sentiment) => judgement.sentiment === sentiment),
    ...endOf(last),
    endsWithReply,
    endsWithReply && REFUSAL.test(lastReply ?? ''),
    endsWithReply && lastReply?.trimEnd().endsWith('?') === true,
    last?.reply != null && REFUSAL.test(last.reply),
    messages.length <= 1,
    lastReply === null,
    scored.some(({ piece }) => piece.isSarcastic),
    scored.length === 0,
    messages.some(({ isTask }) => isTask),
    Math.log2(1 + messages.length) / 2,
    Math.log2(1 + scored.length) / 3,
    likenessOfMessages(scored),
  ]
  return Float32Array.from(facts, Number)
}

/** What the head says of each piece that may have the kind, from -1 (surely not) to 1, the likeliest first. */
function votesFor(
  kind: Kind,
  some: readonly Scored[],
  channel: Reading['channel'],
  all = some,
): readonly number[] {
  return some
    .filter((one) => mayHave(kind, one, all, channel))
    .map((one) => {
      const score = Math.min(0.999, Math.max(0.001, scoreOf(one, kind)))
      return Math.max(-MOST, Math.min(MOST, Math.log(score / (1 - score)))) / MOST
    })
    .sort((a, b) => b - a)
}

const best = (votes: readonly number[]): number => votes[0] ?? -1
const mean = (votes: readonly number[]): number =>
  votes.length === 0 ? -1 : votes.reduce((sum, vote) => sum + vote, 0) / votes.length

/** The form of the last message. */
function endOf(last: Message | undefined): readonly boolean[] {
  const text = last?.masked.trim().toLowerCase() ?? ''
  const clauses = last?.clauses ?? []
  return [
    last?.isPolite === true,
    last?.isTask === true,
    clauses.some((clause) => NO_LUCK.test(clause.text)),
    clauses.some(({ question }) => question),
    clauses.some(({ contrast }) => contrast),
    THANKS.test(text),
    ACCEPTS.test(text),
    text.includes('!'),
    text.endsWith('...') || text.endsWith('…'),
    text.length < 25,
    text.length > 120,
  ]
}

/** How alike two pieces of different messages are, at most. Who says the same again has the same problem. */
function likenessOfMessages(scored: readonly Scored[]): number {
  let most = 0
  for (const [at, { piece, embedding }] of scored.entries()) {
    for (const other of scored.slice(0, at)) {
      if (other.piece.index !== piece.index) most = Math.max(most, cosine(embedding, other.embedding))
    }
  }
  return most
}

function cosine(a: Float32Array, b: Float32Array): number {
  let sum = 0
  for (let at = 0; at < a.length; at++) sum += (a[at] ?? 0) * (b[at] ?? 0)
  return sum
}
