/** What an analysis says about sessions: asks the analyser, and hands the results to the writer of findings. */

import type { Analyzer, Insight } from '../../../analysis/analyze/insight.ts'
import { type Result, resultOf, type Version } from '../../../analysis/findings/finding.rules.ts'
import {
  NEVER_ANALYSED,
  readSessionFindings,
  type Stored,
  saveReadings,
} from '../../../analysis/findings/service.ts'
import type { Query, Tx } from '../../../platform/db/pool.ts'
import type { NewId } from '../../../platform/ids.ts'
import type { LockedSession } from '../sessions/progress.store.ts'
import { type Conversation, draftsOf, quotedMessages } from './conversation.rules.ts'
import { type QuotePlace, readQuotePlaces } from './quotes.store.ts'

/** A conversation as it was read, and what the analyser found in it. */
export interface Read {
  readonly sessionId: string
  readonly conversation: Conversation
  /** Null where the analyser refused the conversation, or there was none. */
  readonly result: Result | null
}

/** One request to the analyser for each organization. @returns results in the order of the conversations */
export async function resultsOf(
  analyzer: Analyzer,
  conversations: readonly Conversation[],
  organizations: readonly string[],
  signal: AbortSignal,
): Promise<readonly Result[]> {
  const insights: Insight[] = []
  const numbers = Map.groupBy(conversations.keys(), (n) => organizations[n])
  for (const [organization, ns] of numbers) {
    const subjects = ns.map((n) => conversations[n]!.subject)
    const found = await analyzer.analyze(subjects, signal, organization)
    for (const [place, n] of ns.entries()) insights[n] = found[place]!
  }
  return conversations.map(({ subject }, n) => resultOf(insights[n]!, subject.said, analyzer))
}

/** What is stored of the sessions, and the quoted messages that have not changed. */
export interface Present {
  readonly stored: ReadonlyMap<string, Stored>
  readonly places: ReadonlyMap<string, readonly QuotePlace[]>
}

/** To be sent together with the statement that locks the sessions, behind it. */
export async function readPresent(tx: Query, reads: readonly Read[]): Promise<Present> {
  const quoted = reads.flatMap(({ sessionId, conversation, result }) =>
    quotedMessages(conversation, result?.findings ?? []).map((message) => ({ ...message, sessionId })),
  )
  const [stored, places] = await Promise.all([
    readSessionFindings(
      tx,
      reads.map(({ sessionId }) => sessionId),
    ),
    readQuotePlaces(tx, quoted),
  ])
  return { stored, places }
}

export function storedOf({ stored }: Present, sessionId: string): Stored {
  return stored.get(sessionId) ?? NEVER_ANALYSED
}

export interface SaveOptions {
  readonly newId: NewId
  readonly analyzer: Version
  /** True for a pass by rules, which leaves the findings of the trained head. */
  readonly keepsLikely: boolean
  /** True if analyses that run now have read an older conversation. */
  readonly outdatesOthers: boolean
}

/** Stores the results. Without a result there are no findings: those of an earlier analysis may quote what is no longer there. */
export async function saveSessions(
  tx: Tx,
  { newId, analyzer, keepsLikely, outdatesOthers }: SaveOptions,
  present: Present,
  sessions: readonly (Omit<Read, 'sessionId'> & { readonly scope: LockedSession })[],
): Promise<void> {
  const readings = sessions.map(({ scope, conversation, result }) => {
    const { organizationId, applicationId, sessionId: id, startedAt: occurredAt } = scope
    return {
      subject: { channel: 'conversation' as const, id, organizationId, applicationId, occurredAt },
      analyzer: result?.analyzer ?? { name: analyzer.name, version: analyzer.version },
      state: result?.state ?? ('failed' as const),
      language: result?.language ?? null,
      outcome: result?.outcome ?? null,
      saying: result?.saying ?? [],
      sentiment: result?.sentiment ?? null,
      drafts: draftsOf(conversation, result?.findings ?? [], present.places.get(id) ?? []),
      keepsLikely,
      outdatesOthers,
    }
  })
  await saveReadings(tx, newId, present.stored, readings)
}
