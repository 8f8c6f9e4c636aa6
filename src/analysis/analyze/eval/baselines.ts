/**
 * Two simple analysers to compare with. Who is not better than both has learned nothing. `majority` says of every item what most items have; `wordList`
 * looks for words.
 */
import { type Insight, KINDS, type Kind, type Outcome, ratingOf, type Sentiment } from '../insight.ts'
import type { Item } from './items.ts'
import type { Judged } from './score.rules.ts'
import { toneOf } from './tone.ts'

/** Neither is sure of anything. */
const CONFIDENCE = 0.5

function insightOf(
  { language, channel }: Item,
  kinds: readonly Kind[],
  outcome: Outcome,
  sentiment: Sentiment,
): Insight {
  const findings = kinds.map((kind) => ({
    ...{ kind, tier: 'sure' as const, confidence: CONFIDENCE, rating: ratingOf(kind) },
    ...{ index: 0, from: 0, to: 0 },
  }))
  return {
    ...{ language, supported: true, sentiment, findings },
    outcome: channel === 'feedback' ? null : outcome,
  }
}

/** Every item gets the kinds that more than half of them have, and the most frequent outcome and sentiment. */
export function majority(items: readonly Item[]): readonly Judged[] {
  const kinds = KINDS.filter(
    (kind) => items.filter((item) => item.kinds.includes(kind)).length * 2 > items.length,
  )
  const outcome = mostFrequent(items.flatMap((item) => item.outcome ?? [])) ?? 'unclear'
  const sentiment = mostFrequent(items.map((item) => item.sentiment)) ?? 'neutral'
  return items.map((item) => ({ item, insight: insightOf(item, kinds, outcome, sentiment) }))
}

/** The first of them if several are equally frequent. */
function mostFrequent<T>(values: readonly T[]): T | undefined {
  const counts = new Map<T, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return [...counts].reduce<readonly [T, number] | undefined>(
    (most, one) => (most === undefined || one[1] > most[1] ? one : most),
    undefined,
  )?.[0]
}

/** Beginnings of words, or parts of sentences, as somebody would write them down in ten minutes. */
const WORDS: Readonly<Record<Kind, readonly string[]>> = {
  bug_report: [
    ...[
      'bug',
      'crash',
      'error',
      'freez',
      'broken',
      "n't work",
      'not work',
      'fail',
      'fehler',
      'funktioniert nicht',
    ],
    ...['ne fonctionne pas', 'erreur', 'no funciona', 'non funziona', 'errore', 'werkt niet', 'não funciona'],
  ],
  feature_request: [
    ...[
      'please add',
      'would be nice',
      'would be great',
      'wish',
      'should have',
      'feature',
      'option to',
      'it would',
    ],
    ...[
      'wünsche',
      'wäre schön',
      'serait bien',
      'ajoute',
      'estaría bien',
      'sarebbe bello',
      'zou fijn',
      'seria bom',
    ],
  ],
  question: ['?', 'how do i', 'how to', 'wondering', 'anyone know', '？', 'ですか'],
  complaint: [
    ...[
      'terrible',
      'awful',
      'worst',
      'useless',
      'annoying',
      'disappoint',
      'horrible',
      'waste',
      'ridiculous',
      'bad',
    ],
    ...['schlecht', 'enttäusch', 'nul', 'déçu', 'malo', 'pessimo', 'slecht', 'péssimo'],
  ],
  praise: [
    ...['great', 'love', 'excellent', 'amazing', 'awesome', 'perfect', 'best', 'good', 'fantastic'],
    ...['super', 'toll', 'excelente', 'parfait', 'ottim', 'geweldig', 'ótimo'],
  ],
  confusion: [
    'confus',
    "don't understand",
    'do not understand',
    'makes no sense',
    'verstehe nicht',
    'comprends pas',
  ],
  human_requested: [
    'human',
    'real person',
    'speak to',
    'talk to',
    'manager',
    'representative',
    'mitarbeiter',
  ],
  churn_risk: [
    'cancel',
    'unsubscribe',
    'switching to',
    'uninstall',
    'refund',
    'leaving',
    'kündig',
    'résilier',
  ],
  wrong_answer: ["didn't work", 'not what i', 'wrong', "doesn't help", 'incorrect', 'did not help', 'falsch'],
  repeated_problem: [
    'again',
    'still',
    'every time',
    'keeps',
    'already',
    'immer wieder',
    'encore',
    'otra vez',
  ],
  resolved_confirmation: [
    'works now',
    'that worked',
    'solved',
    'fixed',
    'working now',
    'gelöst',
    'résolu',
    'solucionado',
  ],
}

/** Each kind one of whose words the customer says, the outcome by the customer's last words, and the sentiment by a list of tones. */
export function wordList(items: readonly Item[]): readonly Judged[] {
  return items.map((item) => {
    const texts = item.said.flatMap(({ own, text }) => (own ? [] : [text.toLowerCase()]))
    const kindsIn = (text: string) => KINDS.filter((kind) => WORDS[kind].some((word) => text.includes(word)))
    const last = kindsIn(texts.at(-1) ?? '')
    const isOpen = last.some((kind) => ratingOf(kind) === 'negative')
    const outcome = last.includes('resolved_confirmation') ? 'resolved' : isOpen ? 'unresolved' : 'unclear'
    const all = texts.join('\n')
    return { item, insight: insightOf(item, kindsIn(all), outcome, toneOf(all, item.language)) }
  })
}
