/**
 * The actor that analyses a feedback record or a transcript in the background. It reads what was said, asks the analyser outside of any
 * transaction, and replaces the findings.
 *
 * A result counts only for the version that was read. If the subject changed meanwhile, the actor analyses it again.
 */

import { defineActor } from '../../actors/declaration.ts'
import {
  type ActorDefinition,
  asGroupTurn,
  type GroupTurn,
  type LongTurn,
  type Message,
} from '../../actors/types.ts'
import type { Deps } from '../../kernel/deps.ts'
import { insightMessages, insightReanalysisMessages, toAnalyze } from '../../kernel/messages/insight.ts'
import type { AnalyzerDeps } from '../analyze/create.ts'
import { createAnalyzer, createBackgroundAnalyzer } from '../analyze/create.ts'
import type { Analyzer } from '../analyze/insight.ts'
import { analyzeSources, saveInsights } from './analysis.ts'
import { markRead } from './findings.store.ts'
import { readSources } from './read.ts'
import type { Source } from './source.ts'

type InsightDeps = Pick<Deps & AnalyzerDeps, 'modelServer' | 'newId' | 'textWork' | 'tokenBudget'>

/** A model server takes one subject at a time, so each then has its own turn. */
export function insightActor(deps: InsightDeps, analyzer: Analyzer = createAnalyzer(deps)): ActorDefinition {
  const handler = handlerOf(deps, analyzer)
  return defineActor(insightMessages, {
    maxAttempts: 8,
    // The subject keeps the findings that it has.
    async giveUp(message, tx) {
      const sources = await readSources(tx, [subjectOf(message)])
      const failed = sources.map((source) => ({ source, insight: null, isFailed: true }))
      await saveInsights(tx, { newId: deps.newId, version: analyzer }, failed)
      return 'handled'
    },
    handlers: { feedback: handler, recording: handler },
  })
}

/** Re-analysis in the background: what an older analyser has read, or none. */
export function insightReanalysisActor(
  deps: InsightDeps,
  analyzer: Analyzer = createBackgroundAnalyzer(deps),
): ActorDefinition {
  const handler = handlerOf(deps, analyzer)
  return defineActor(insightReanalysisMessages, {
    maxAttempts: 6,
    async giveUp({ id, type }, tx) {
      await markRead(tx, channelOf(type), id, analyzer)
      return 'handled'
    },
    handlers: { feedback: handler, recording: handler },
  })
}

function handlerOf(deps: InsightDeps, analyzer: Analyzer) {
  const together = (turn: GroupTurn) => analyze(deps, analyzer, turn)
  const alone = (turn: LongTurn) => together(asGroupTurn(turn))
  return deps.modelServer === null ? { together, alone } : alone
}

// The runtime has checked the type against the declaration.
const channelOf = (type: string) => type as Source['channel']
const subjectOf = ({ id, type }: Message) => ({ id, channel: channelOf(type) })

async function analyze({ newId }: InsightDeps, analyzer: Analyzer, turn: GroupTurn): Promise<void> {
  const sources = await turn.read((tx) => readSources(tx, turn.messages.map(subjectOf)))
  const analyzed = await analyzeSources(analyzer, sources, turn.signal)
  await turn.finish(async (tx, send) => {
    const outdated = await saveInsights(tx, { newId, version: analyzer }, analyzed)
    await send(outdated.map(({ organizationId, channel, id }) => toAnalyze(organizationId, channel, id)))
  })
}
