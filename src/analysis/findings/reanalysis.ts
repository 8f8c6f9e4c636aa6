/**
 * Re-analysis: of what another analyser or another version has read, and of what was never analysed. The rows of `insight_subject` are the
 * list of what is left to do, so it goes on where it was after any interruption.
 *
 * A portion waits at a time, and the pool `background` reads it. So it delays no fresh work, however much there is.
 */

import { transactionWithOutbox } from '../../actors/mailbox.ts'
import type { MaintenanceTask, NewMessage } from '../../actors/types.ts'
import type { Config } from '../../kernel/config.ts'
import type { Deps } from '../../kernel/deps.ts'
import { toReanalyze } from '../../kernel/messages/analysis.ts'
import { insightReanalysisMessages } from '../../kernel/messages/insight.ts'
import type { Query } from '../../platform/db/pool.ts'
import type { AnalyzerDeps } from '../analyze/create.ts'
import { analyzerVersion, BACKGROUND_SHARE } from '../analyze/create.ts'
import type { Version } from './finding.rules.ts'
import { type DueSubject, findDue, type Progress, readProgress } from './reanalysis.store.ts'

/** Subjects of one round: of one organization, and of all. An organization has no more than its share waiting. */
const SHARE = 40
const ROUND = 200
const EVERY_SECONDS = 15

type ReanalysisDeps = Pick<Deps & AnalyzerDeps, 'sql' | 'notifier' | 'config' | 'tokenBudget'>

export function reanalysisMaintenance(deps: ReanalysisDeps): readonly MaintenanceTask[] {
  const run = () => sendDue(deps, analyzerVersion(deps.config))
  return [{ name: 'insight_reanalysis', everySeconds: EVERY_SECONDS, run }]
}

/** One round. */
export async function sendDue(
  deps: Pick<Deps & AnalyzerDeps, 'sql' | 'notifier' | 'tokenBudget'>,
  analyzer: Version,
  { share = SHARE, round = ROUND } = {},
): Promise<void> {
  // Without tokens the built-in analyser would read the same subjects again and again.
  const spent = await deps.tokenBudget.spent(BACKGROUND_SHARE)
  await transactionWithOutbox(deps, async (tx, outbox) => {
    await outbox.sendUnlessPresent((await findDue(tx, analyzer, spent, share, round)).map(messageOf))
  })
}

/** If a message is left out because one still waits or runs, the next round looks again. */
function messageOf({ channel, organizationId, id }: DueSubject): NewMessage {
  return channel === 'conversation'
    ? toReanalyze(organizationId, id)
    : insightReanalysisMessages.message(id, channel, { organizationId })
}

/** How much the present analyser has read, for `earshot doctor`. */
export async function describeProgress(query: Query, config: Pick<Config, 'analyze'>): Promise<string> {
  const analyzer = analyzerVersion(config)
  const { read, waiting }: Progress = await readProgress(query, analyzer)
  return `${read} conversations, records and transcripts read by ${analyzer.name} ${analyzer.version}; ${waiting} wait`
}
