/**
 * The actor that analyses a conversation, a feedback record or a recording in full, in the background. It reads what was said, asks the
 * analyser outside of any transaction, and replaces the findings.
 *
 * A result counts only for the version that was read. If the subject changed meanwhile, the actor analyses it again.
 */
import { defineActor } from '../actors/declaration.ts'
import type { ActorDefinition, GroupHandler, GroupTurn, Message } from '../actors/types.ts'
import { createBuiltInAnalyzer } from '../analyze/builtin/builtin.ts'
import type { Analyzer } from '../analyze/insight.ts'
import type { Deps } from '../container.ts'
import type { Channel } from '../insight/model.ts'
import { insightMessages, toAnalyze } from '../messages/insight.ts'
import { readSources } from './read.ts'
import { analyzeSources, saveInsights } from './save.ts'

type InsightDeps = Pick<Deps, 'newId' | 'textWork'>

export function insightActor(
  deps: InsightDeps,
  analyzer: Analyzer = createBuiltInAnalyzer(deps.textWork),
): ActorDefinition {
  const handler: GroupHandler = {
    together: (turn) => analyze(deps, analyzer, turn),
    alone: (turn) =>
      analyze(deps, analyzer, {
        signal: turn.signal,
        log: turn.log,
        read: (work) => turn.read(work),
        finish: (work) => turn.finish(work),
        messages: [turn.message],
        organizations: [turn.organization],
      }),
  }
  const options = { newId: deps.newId, version: analyzer, pass: 'full' } as const
  return defineActor(insightMessages, {
    maxAttempts: 8,
    // The subject is not asked for again until the analyser has another version.
    async giveUp(message, tx) {
      const sources = await readSources(tx, [subjectOf(message)])
      await saveInsights(
        tx,
        options,
        sources.map((source) => ({ source, insight: null, isFailed: true })),
      )
      return 'handled'
    },
    handlers: { conversation: handler, feedback: handler, recording: handler },
  })
}

const subjectOf = ({ id, type }: Message) => ({ id, channel: type as Channel })

async function analyze({ newId }: InsightDeps, analyzer: Analyzer, turn: GroupTurn): Promise<void> {
  const sources = await turn.read((tx) => readSources(tx, turn.messages.map(subjectOf)))
  const analyzed = await analyzeSources(analyzer, sources, turn.signal)
  await turn.finish(async (tx, send) => {
    const outdated = await saveInsights(tx, { newId, version: analyzer, pass: 'full' }, analyzed)
    await send(
      outdated.map(({ organizationId, channel, id }) => ({
        ...toAnalyze(organizationId, channel, id, true),
        // The waiting message is the one of this turn.
        unlessWaiting: false,
      })),
    )
  })
}
