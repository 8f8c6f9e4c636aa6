/**
 * Findings of the built-in analyser: cues, and the sentiment of a user's messages after a response.
 * English; other languages yield few findings rather than wrong ones.
 */
import type { ItemSentence } from 'wink-nlp'
import type { Exchange, Finding } from './analyzer.ts'
import { isAcknowledgement, repeats, saysNotSolved, saysSolved } from './cues.ts'
import { boundTokens, quote } from './text.ts'

/** A sentence of a user and its sentiment from -1 to 1. */
export interface Sentence {
  readonly text: string
  readonly sentiment: number
}

/** Splits a message into sentences and scores them. */
export type Score = (message: string) => readonly Sentence[]

/** Mean sentiment at which a user counts as pleased or displeased. */
const CLEAR_SENTIMENT = 0.25

/** Findings about one exchange. Pure in its arguments. */
export function findingsOf(exchange: Exchange, score: Score): readonly Finding[] {
  const { eventId, question, followUps } = exchange
  const sentences = followUps.flatMap((message) => score(message))
  const findings: Finding[] = []
  const repeated = question === null ? undefined : followUps.find((message) => repeats(question, message))
  if (repeated !== undefined) {
    findings.push({ eventId, kind: 'repeated_question', rating: 'negative', comment: quote(repeated) })
  }
  const unsolved = sentences.find((sentence) => saysNotSolved(sentence.text))
  const solved = sentences.find((sentence) => saysSolved(sentence.text))
  if (unsolved) {
    findings.push({ eventId, kind: 'unresolved', rating: 'negative', comment: quote(unsolved.text) })
  } else if (solved && repeated === undefined) {
    findings.push({ eventId, kind: 'resolved', rating: 'positive', comment: quote(solved.text) })
  }
  const sentiment = sentimentOf(eventId, sentences)
  if (sentiment) findings.push(sentiment)
  return findings
}

function sentimentOf(eventId: string, sentences: readonly Sentence[]): Finding | null {
  const telling = sentences.filter(
    (sentence) => sentence.sentiment !== 0 && !isAcknowledgement(sentence.text),
  )
  const first = telling[0]
  if (first === undefined) return null
  const mean = telling.reduce((sum, sentence) => sum + sentence.sentiment, 0) / telling.length
  if (Math.abs(mean) < CLEAR_SENTIMENT) return null
  const strongest = telling.reduce((a, b) => (b.sentiment * mean > a.sentiment * mean ? b : a), first)
  return {
    eventId,
    kind: 'user_sentiment',
    rating: mean > 0 ? 'positive' : 'negative',
    comment: quote(strongest.text),
  }
}

/** Loads wink-nlp with its small English model (4 MB). */
export async function loadScore(): Promise<Score> {
  const [{ default: winkNLP }, { default: model }] = await Promise.all([
    import('wink-nlp'),
    import('wink-eng-lite-web-model'),
  ])
  const nlp = winkNLP(model, ['sbd', 'negation', 'sentiment'])
  return (message) => {
    const sentences: Sentence[] = []
    nlp
      .readDoc(boundTokens(message))
      .sentences()
      .each((sentence: ItemSentence) => {
        sentences.push({ text: sentence.out(), sentiment: Number(sentence.out(nlp.its.sentiment)) })
      })
    return sentences
  }
}
