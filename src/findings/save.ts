/** Stores what an analysis found, for the transaction that ends it. */
import { isShown } from '../analyze/gate.rules.ts'
import type { Analyzer, Insight } from '../analyze/insight.ts'
import type { Query, Tx } from '../platform/db/pool.ts'
import type { NewId } from '../platform/ids.ts'
import * as store from './findings.store.ts'
import { reconcile, rowOf } from './reconcile.rules.ts'
import type { Source } from './source.ts'

export type Version = Pick<Analyzer, 'name' | 'version'>

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

export interface SaveOptions {
  readonly newId: NewId
  readonly version: Version
}

/**
 * Replaces the findings of the sources. A finding keeps its id while its subject has the kind. Sources that were deleted meanwhile
 * get nothing. Sources that changed since they were read are left out.
 * @returns the sources that changed meanwhile
 */
export async function saveInsights(
  tx: Tx,
  options: SaveOptions,
  analyzed: readonly Analyzed[],
): Promise<readonly Source[]> {
  const outdated: Source[] = []
  for (const [channel, some] of Map.groupBy(analyzed, ({ source }) => source.channel))
    outdated.push(...(await saveChannel(tx, options, channel, some)))
  return outdated
}

const LOCKS = { feedback: store.lockRecords, recording: store.lockRecordings }

async function saveChannel(
  tx: Tx,
  options: SaveOptions,
  channel: Source['channel'],
  analyzed: readonly Analyzed[],
): Promise<readonly Source[]> {
  const sources = analyzed.map(({ source }) => source)
  const [locked, subjects, findings] = await Promise.all([
    LOCKS[channel](
      tx,
      sources.map(({ id }) => id),
    ),
    store.readSubjects(tx, channel, sources),
    store.readFindings(tx, channel, sources),
  ])
  const exists = new Set(locked.map(({ id }) => id))
  const subjectOf = new Map(subjects.map((subject) => [subject.id, subject]))
  const findingsOf = Map.groupBy(findings, ({ sourceId }) => sourceId)
  const isOutdated = ({ id, sourceVersion }: Source) =>
    (subjectOf.get(id)?.sourceVersion ?? 0) !== sourceVersion
  const changes = analyzed
    .filter(({ source }) => exists.has(source.id) && !isOutdated(source))
    .map((one) => changeOf(options, one, subjectOf.get(one.source.id), findingsOf.get(one.source.id) ?? []))
  await Promise.all([
    store.saveSubjects(
      tx,
      changes.map(({ subject }) => subject),
    ),
    store.deleteFindings(
      tx,
      changes.map(({ subject }) => subject.organizationId),
      changes.flatMap(({ remove }) => remove),
    ),
    store.saveFindings(
      tx,
      changes.flatMap(({ write }) => write),
    ),
  ])
  return sources.filter((source) => exists.has(source.id) && isOutdated(source))
}

function changeOf(
  { newId, version }: SaveOptions,
  { source, insight, isFailed = false }: Analyzed,
  known: store.SubjectRow | undefined,
  present: Parameters<typeof reconcile>[0],
) {
  const { organizationId, channel, occurredAt } = source
  const language = insight?.language ?? null
  const analyzer = { analyzerName: version.name, analyzerVersion: version.version }
  const shared = { organizationId, channel, sourceId: source.id, language, ...analyzer }
  const subject: store.NewSubject = {
    ...shared,
    id: known?.subjectId ?? newId(),
    occurredAt,
    state: stateOf(insight, isFailed),
    outcome: insight?.outcome ?? null,
    sentiment: insight?.sentiment ?? null,
    sourceVersion: Math.max(1, known?.sourceVersion ?? 0),
  }
  if (isFailed) return { subject, remove: [], write: [] }
  const { write, remove } = reconcile(
    present,
    known?.verdicts ?? [],
    insight?.findings ?? [],
    ({ kind, tier }) => isShown(kind, tier, language, channel),
  )
  const rows = write.map((one) => ({ ...shared, ...rowOf(source, one), id: one.id ?? newId() }))
  return { subject, remove, write: rows }
}

function stateOf(insight: Insight | null, isFailed: boolean): store.NewSubject['state'] {
  if (isFailed) return 'failed'
  if (insight?.supported === false) return 'not_supported'
  return 'analyzed'
}

/** Removes the findings of a recording whose transcript is gone or changed, and makes running analyses of it outdated. */
export async function forgetFindings(tx: Query, organizationId: string, recordingId: string): Promise<void> {
  await store.outdate(tx, 'recording', { id: recordingId, organizationId })
  await store.deleteFindingsOf(tx, organizationId, recordingId)
}

/** Makes running analyses of a recording outdated, for the transaction that has the new transcript analysed. */
export const outdateRecording = (tx: Query, organizationId: string, recordingId: string): Promise<void> =>
  store.outdate(tx, 'recording', { id: recordingId, organizationId })
