/** The one writer of findings, for all channels: stores what an analysis found, in the transaction that ends it. */

import type { Channel } from '../../kernel/channel.ts'
import type { Query } from '../../platform/db/pool.ts'
import type { NewId } from '../../platform/ids.ts'
import type { Kind, Outcome, Sentiment } from '../analyze/insight.ts'
import { basisOf } from './basis.rules.ts'
import type { Draft, Version } from './finding.rules.ts'
import * as store from './findings.store.ts'
import { readGates, type Shows } from './gate.ts'
import { type ReconcileOptions, reconcile } from './reconcile.rules.ts'

/** The session, feedback record or recording that was analysed. */
export interface SubjectRef {
  readonly channel: Channel
  readonly id: string
  readonly organizationId: string
  /** Of a session. */
  readonly applicationId?: string
  /** RFC 3339 text. */
  readonly occurredAt: string
}

/** What one analysis says about a subject. */
export interface Reading {
  readonly subject: SubjectRef
  readonly analyzer: Version
  readonly state: 'analyzed' | 'failed' | 'not_supported' | 'no_words'
  readonly language: string | null
  readonly outcome: Outcome | null
  /** Kinds of findings with which the customer says the outcome. */
  readonly saying: readonly Kind[]
  readonly sentiment: Sentiment | null
  /** Null: the findings stay as they are. */
  readonly drafts: readonly Draft[] | null
  /** Findings of the trained head stay, because only rules were applied. */
  readonly keepsLikely: boolean
  /** True if it makes analyses that run now outdated. */
  readonly outdatesOthers: boolean
}

export const NEVER_ANALYSED: store.Stored = { subjectId: null, sourceVersion: 0, verdicts: [], findings: [] }

/**
 * Replaces the findings of subjects. A finding keeps its id while its subject has the kind. Verdicts hold.
 * @param stored what `readStored` read in this transaction, after the locks of what was analysed
 */
export async function saveReadings(
  tx: Query,
  newId: NewId,
  stored: ReadonlyMap<string, store.Stored>,
  readings: readonly Reading[],
): Promise<void> {
  const shows = await gatesOf(tx, readings)
  const changes = readings.map((reading) =>
    changeOf(newId, reading, shows, stored.get(reading.subject.id) ?? NEVER_ANALYSED),
  )
  await Promise.all([
    store.saveSubjects(
      tx,
      changes.map(({ subject }) => subject),
    ),
    // Before the insertions, because a subject has one finding of each kind.
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
}

/** What the organizations of the readings see. Readings of one transaction are of one analyser. */
async function gatesOf(tx: Query, readings: readonly Reading[]): Promise<Shows> {
  const found = readings.filter(({ drafts }) => drafts !== null && drafts.length > 0)
  const [first] = found
  if (first === undefined) return () => false
  const organizations = found.map(({ subject }) => subject.organizationId)
  return readGates(tx, organizations, first.analyzer)
}

function changeOf(newId: NewId, reading: Reading, shows: Shows, known: store.Stored) {
  const { subject, analyzer, state, language, outcome, saying, sentiment, drafts, keepsLikely } = reading
  const { id, organizationId, channel, applicationId = null, occurredAt } = subject
  const shared = {
    organizationId,
    channel,
    sourceId: id,
    applicationId,
    language,
    analyzerName: analyzer.name,
    analyzerVersion: analyzer.version,
  }
  const sourceVersion = Math.max(1, known.sourceVersion + Number(reading.outdatesOthers))
  const rowWith = (shown: ReadonlySet<string>): store.SubjectRow => ({
    ...shared,
    ...{ id: known.subjectId ?? newId(), occurredAt, state, outcome, sentiment, sourceVersion },
    outcomeBasis: basisOf(outcome, saying, shown),
  })
  if (drafts === null) return { subject: rowWith(new Set()), remove: [], write: [] }
  const isShown: ReconcileOptions['isShown'] = ({ kind, tier }) =>
    shows(organizationId, kind, tier, language, channel)
  const options = { isShown, keepsLikely }
  const { write, remove } = reconcile(known.findings, known.verdicts, drafts, options)
  const shown = new Set(write.filter((one) => one.shown).map(({ kind }) => kind))
  return {
    subject: rowWith(shown),
    remove,
    write: write.map((one) => ({ ...shared, ...one, id: one.id ?? newId() })),
  }
}

/** Removes the findings of a recording whose transcript is gone or changed, and makes running analyses of it outdated. */
export async function forgetFindings(tx: Query, organizationId: string, recordingId: string): Promise<void> {
  await store.outdate(tx, organizationId, recordingId)
  await store.deleteFindingsOf(tx, organizationId, recordingId)
}

/** Makes running analyses of a recording outdated, for the transaction that has the new transcript analysed. */
export const outdateRecording = (tx: Query, organizationId: string, recordingId: string): Promise<void> =>
  store.outdate(tx, organizationId, recordingId)
