/** From the messages of a session to what the analyser reads, and from its findings to signals of the messages. Pure. */
import { isShown } from '../../analyze/gate.rules.ts'
import type { Subject } from '../../analyze/insight.ts'
import { textOf } from '../../analyze/text.ts'
import type { Result } from '../../findings/finding.rules.ts'
import type { SpokenRow } from './conversation.store.ts'
import type { SessionFinding } from './findings.store.ts'

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

/** Each finding names the quoted message, its speaker, and the last response before it. */
export function findingsOf(
  { messages }: Conversation,
  { findings, language, analyzer }: Result,
): readonly SessionFinding[] {
  return findings.flatMap(({ index, quote, ...finding }) => {
    const message = messages[index]
    if (message === undefined) return []
    return [
      {
        ...finding,
        comment: quote,
        shown: isShown(finding.kind, finding.tier, language, 'conversation'),
        language,
        analyzerName: analyzer.name,
        analyzerVersion: analyzer.version,
        externalEventId: message.externalEventId,
        targetEventExternalId: messages.slice(0, index).findLast(({ own }) => own)?.externalEventId ?? null,
        participantExternalId: message.participantExternalId,
        bodyHash: message.bodyHash,
      },
    ]
  })
}
