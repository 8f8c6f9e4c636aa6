/** The analysis of feedback records and recordings: asks the analyser, and stores what it found. */

import type { Tx } from '../../platform/db/pool.ts'
import type { NewId } from '../../platform/ids.ts'
import type { Analyzer, Insight } from '../analyze/insight.ts'
import type { Version } from './finding.rules.ts'
import { lockSources, readStored } from './findings.store.ts'
import { NEVER_ANALYSED, type Reading, saveReadings } from './save.ts'
import { draftsOf, resultOfSource } from './source.rules.ts'
import type { Source } from './source.ts'

/** What was read and what was found. */
export interface Analyzed {
  readonly source: Source
  /** Null: nobody said anything, or the analyser refused. */
  readonly insight: Insight | null
  readonly isFailed?: boolean
}

/**
 * The insights of the sources, in their order. An organization's subjects travel together. Null where nobody said anything.
 * @throws AnalyzerError, TextWorkError as the analyser
 */
export async function analyzeSources(
  analyzer: Analyzer,
  sources: readonly Source[],
  signal: AbortSignal,
): Promise<readonly Analyzed[]> {
  const spoken = sources.filter(({ said }) => said.some(({ own }) => !own))
  const insights = new Map<Source, Insight>()
  for (const [organization, some] of Map.groupBy(spoken, ({ organizationId }) => organizationId)) {
    const subjects = some.map(({ channel, said }) => ({ channel, said }))
    const found = await analyzer.analyze(subjects, signal, organization)
    for (const [index, source] of some.entries()) {
      const insight = found[index]
      if (insight !== undefined) insights.set(source, insight)
    }
  }
  return sources.map((source) => ({ source, insight: insights.get(source) ?? null }))
}

/**
 * Replaces the findings of the sources. Sources that were deleted meanwhile get nothing. Sources that changed since they were read are
 * left out.
 * @returns the sources that changed meanwhile
 */
export async function saveInsights(
  tx: Tx,
  { newId, version }: { readonly newId: NewId; readonly version: Version },
  analyzed: readonly Analyzed[],
): Promise<readonly Source[]> {
  const outdated: Source[] = []
  for (const [channel, some] of Map.groupBy(analyzed, ({ source }) => source.channel)) {
    const ids = some.map(({ source }) => source.id)
    const [exist, stored] = await Promise.all([lockSources(tx, channel, ids), readStored(tx, channel, ids)])
    const existing = some.filter(({ source }) => exist.has(source.id))
    const isCurrent = ({ source: { id, sourceVersion } }: Analyzed) =>
      (stored.get(id) ?? NEVER_ANALYSED).sourceVersion === sourceVersion
    const readings = existing.filter(isCurrent).map((one) => readingOf(version, one))
    await saveReadings(tx, newId, stored, readings)
    outdated.push(...existing.filter((one) => !isCurrent(one)).map(({ source }) => source))
  }
  return outdated
}

function readingOf(analyzer: Version, { source, insight, isFailed = false }: Analyzed): Reading {
  const { channel, id, organizationId, occurredAt } = source
  const result = insight === null ? null : resultOfSource(insight, source, analyzer)
  return {
    subject: { channel, id, organizationId, occurredAt },
    analyzer: result?.analyzer ?? analyzer,
    state: isFailed ? 'failed' : (result?.state ?? 'no_words'),
    language: result?.language ?? null,
    outcome: result?.outcome ?? null,
    saying: result?.saying ?? [],
    sentiment: result?.sentiment ?? null,
    drafts: isFailed ? null : draftsOf(source, result?.findings ?? []),
    keepsLikely: false,
    outdatesOthers: false,
  }
}
