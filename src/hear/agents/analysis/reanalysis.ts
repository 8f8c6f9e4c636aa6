/**
 * The actor that analyses whole sessions in the background, by everything that the analyser has: as the second pass, a few seconds after
 * the first pass; where the agent does not answer; and as the re-analysis, where an older analyser has read the session, or none.
 *
 * It runs beside the actor `analysis`. A first pass that was stored meanwhile is the newer one, so the result is dropped then. If
 * the session had a turn meanwhile, it is read once more.
 */

import { defineActor } from '../../../actors/declaration.ts'
import { type ActorDefinition, asGroupTurn, type GroupTurn, type LongHandler } from '../../../actors/types.ts'
import type { AnalyzerDeps } from '../../../analysis/analyze/create.ts'
import { createBackgroundAnalyzer } from '../../../analysis/analyze/create.ts'
import type { Analyzer } from '../../../analysis/analyze/insight.ts'
import { giveUpSession } from '../../../analysis/findings/service.ts'
import type { Deps } from '../../../kernel/deps.ts'
import { sessionReanalysisMessages, toReanalyze } from '../../../kernel/messages/analysis.ts'
import { lockSessions } from '../sessions/progress.store.ts'
import { type Conversation, conversationOf } from './conversation.rules.ts'
import { readConversations } from './conversation.store.ts'
import { readPresent, resultsOf, saveSessions, storedOf } from './readings.ts'
import { readVersions, type SessionVersion } from './reanalysis.store.ts'

type SessionReanalysisDeps = Pick<Deps & AnalyzerDeps, 'modelServer' | 'newId' | 'textWork' | 'tokenBudget'>

/** Time until a session that changed while it was read is read once more. */
const CHANGED_DELAY_MS = 5_000

/** @param analyzer absent: as configured */
export function sessionReanalysisActor(
  deps: SessionReanalysisDeps,
  analyzer: Analyzer = createBackgroundAnalyzer(deps),
): ActorDefinition {
  const together = (turn: GroupTurn) => reanalyze(deps, analyzer, turn)
  const alone: LongHandler = (turn) => together(asGroupTurn(turn))
  return defineActor(sessionReanalysisMessages, {
    maxAttempts: 6,
    // The session keeps what it has.
    async giveUp({ id }, tx) {
      await lockSessions(tx, [id])
      await giveUpSession(tx, id, analyzer)
      return 'handled'
    },
    handlers: { conversation: deps.modelServer === null ? { together, alone } : alone },
  })
}

/** A message that changes meanwhile is not quoted. */
async function reanalyze(deps: SessionReanalysisDeps, analyzer: Analyzer, turn: GroupTurn): Promise<void> {
  const ids = turn.messages.map(({ id }) => id)
  const { versions, conversations } = await turn.read(async (tx) => {
    // The versions first, so that they are never the newer ones.
    const [versions, spoken] = await Promise.all([readVersions(tx, ids), readConversations(tx, ids)])
    return { versions, conversations: ids.map((id) => conversationOf(spoken.get(id) ?? [])) }
  })
  const [only, version] = [conversations[0], versions.get(ids[0] ?? '')]
  // A model server has read all of it in the first pass.
  if (deps.modelServer !== null && only !== undefined && isAnswered(only, version, analyzer))
    return turn.finish(async () => {})
  const results = await resultsOf(analyzer, conversations, turn.organizations, turn.signal)
  const reads = ids.map((sessionId, n) => {
    return { sessionId, conversation: conversations[n]!, result: results[n]! }
  })
  await turn.finish(async (tx, send) => {
    const [sessions, now, present] = await Promise.all([
      lockSessions(tx, ids),
      readVersions(tx, ids),
      readPresent(tx, reads),
    ])
    const read = sessions.map((scope) => ({ ...reads[ids.indexOf(scope.sessionId)]!, scope }))
    const current = read.filter(
      ({ sessionId }) =>
        storedOf(present, sessionId).sourceVersion === versions.get(sessionId)?.sourceVersion,
    )
    const options = { newId: deps.newId, analyzer, keepsLikely: false, outdatesOthers: false }
    await saveSessions(tx, options, present, current)
    const changed = read.filter(
      (one) =>
        !current.includes(one) || versions.get(one.sessionId)?.turnedAt !== now.get(one.sessionId)?.turnedAt,
    )
    await send(
      changed.map(({ scope }) => toReanalyze(scope.organizationId, scope.sessionId, CHANGED_DELAY_MS)),
    )
  })
}

/** The agent had the last word, so an analysis came with it. */
function isAnswered(
  { messages }: Conversation,
  version: SessionVersion | undefined,
  { name, version: present }: Analyzer,
): boolean {
  const isRead = version?.analyzerName === name && version.analyzerVersion === present
  return isRead && messages.at(-1)?.own === true
}
