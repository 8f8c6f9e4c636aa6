/** From the messages of a session to what the analyser reads, and from its findings to signals of the messages. Pure. */
import type { Subject } from '../../../analysis/analyze/insight.ts'
import { textOf } from '../../../analysis/analyze/text.ts'
import type { Draft, Result } from '../../../analysis/findings/finding.rules.ts'
import type { SpokenRow } from './conversation.store.ts'
import type { QuotedMessage, QuotePlace } from './quotes.store.ts'

/** The messages that have words, and the same as the subject of an analysis. */
export interface Conversation {
  readonly messages: readonly Omit<SpokenRow, 'content'>[]
  readonly subject: Subject
}

export function conversationOf(rows: readonly SpokenRow[]): Conversation {
  const spoken = rows
    .map(({ content, ...message }) => ({ message, text: textOf(content) }))
    .filter(({ text }) => text !== '')
  return {
    messages: spoken.map(({ message }) => message),
    subject: {
      channel: 'conversation',
      said: spoken.map(({ message: { own }, text }) => ({ own, text })),
    },
  }
}

/** The messages that the findings quote, each once. */
export function quotedMessages(
  { messages }: Conversation,
  findings: Result['findings'],
): readonly QuotedMessage[] {
  const quoted = new Set(findings.map(({ index }) => index))
  return messages.filter((_, index) => quoted.has(index))
}

/**
 * Each finding names the quoted message, its speaker, and the last response before it. A finding whose message has changed is left out.
 * @param places the messages that have not changed
 */
export function draftsOf(
  { messages }: Conversation,
  findings: Result['findings'],
  places: readonly QuotePlace[],
): readonly Draft[] {
  const placeOf = new Map(places.map((place) => [place.externalEventId, place]))
  return findings.flatMap(({ index, quote, kind, rating, tier, confidence }) => {
    const message = messages[index]
    const place = placeOf.get(message?.externalEventId ?? '')
    if (message === undefined || place === undefined) return []
    const { externalEventId, sequence, revision, occurredAt, productArea, agentVersion } = place
    return [
      {
        ...{ kind, rating, tier, confidence, comment: quote },
        ...{ externalEventId, sequence, revision, occurredAt, productArea, agentVersion },
        targetEventExternalId: messages.slice(0, index).findLast(({ own }) => own)?.externalEventId ?? null,
        participantExternalId: message.participantExternalId,
      },
    ]
  })
}
