/**
 * Verdicts about findings. A verdict outlasts re-analysis, applies at once, and counts for the precision of its sort: kind, tier, language
 * and version of the analyser. One transaction does all of it.
 */
import { transactionWithOutbox } from '../../actors/mailbox.ts'
import { CHANNELS, type Channel } from '../../kernel/channel.ts'
import type { Deps } from '../../kernel/deps.ts'
import { findingGateMessages } from '../../kernel/messages/finding-gate.ts'
import type { Viewer } from '../../kernel/principal.ts'
import type { Alongside } from '../../platform/db/alongside.ts'
import type { Query, Tx } from '../../platform/db/pool.ts'
import { AppError } from '../../platform/errors.ts'
import { invalid } from '../../platform/validation/json.ts'
import { lowerBound } from '../analyze/eval/bound.rules.ts'
import { gateOf, MIN_VERDICTS } from '../analyze/gate.rules.ts'
import { type Analyzer, KINDS, type Kind, ratingOf, TIERS, type Tier } from '../analyze/insight.ts'
import { readPrecision } from './gate.store.ts'
import { channelsShown } from './gate.ts'
import { type Decision, decide, deltasOf, type Judgement, type Sort } from './verdict.rules.ts'
import * as store from './verdicts.store.ts'

export type Verdicts<Signal> = ReturnType<typeof createVerdicts<Signal>>

/** What a correction reads of a finding. */
export interface StoredFinding {
  readonly id: string
  readonly channel: Channel
  readonly sessionId: string | null
  readonly recordId: number | null
  readonly recordingId: string | null
  readonly kind: string
  /** The kind that the analyser found, where a person gave it another one. */
  readonly foundKind: string | null
  /** Null: it is no finding, or one of an older version. */
  readonly tier: Tier | null
  readonly language: string | null
  readonly analyzer: { readonly name: string; readonly version: string } | null
}

/** Reads findings as the caller may see them. `Signal` is a finding as it is listed. */
interface FindingReader<Signal> {
  /** Undefined: there is none that the viewer sees. */
  finding(sql: Query, viewer: Viewer, id: string): Promise<StoredFinding | undefined>
  /** Null: it is not listed. */
  shownSignal(sql: Query, viewer: Viewer, id: string): Promise<Signal | null>
}

export interface VerdictsDeps<Signal> extends Pick<Deps, 'sql' | 'reads' | 'notifier' | 'newId'> {
  readonly conversations: FindingReader<Signal>
  /** The analyser that runs now. */
  readonly analyzer: Pick<Analyzer, 'name' | 'version'>
}

/** How precise findings of a sort are, and whether they are shown on a channel. */
export interface Precision {
  readonly tier: Tier
  readonly channel: Channel
  readonly shown: boolean
  readonly source: 'shipped' | 'own'
  readonly judged: number
  readonly right: number
  /** Null where nothing was judged. */
  readonly precision: number | null
  readonly lowerBound: number | null
  /** Verdicts that are missing before those of the organization decide. */
  readonly verdictsNeeded: number
}

export interface Judged<Signal> {
  readonly signalId: string
  /** The kind that the analyser found. */
  readonly kind: Kind
  readonly verdict: Judgement['verdict']
  readonly meantKind: Kind | null
  /** As it is listed now; null if it is not. */
  readonly signal: Signal | null
  readonly precision: Precision
}

export function createVerdicts<Signal>(deps: VerdictsDeps<Signal>) {
  return {
    /**
     * @throws AppError 404; 400 if the kind is called wrong and right at once; 409 `signal_not_correctable`
     */
    judge: (viewer: Viewer, signalId: string, judgement: Judgement, also: Alongside<Judged<Signal>>) =>
      judge(deps, viewer, signalId, judgement, also),

    /** What decides about each kind, in the order of the kinds. */
    async precision(organizationId: string, language: string | null) {
      const { name, version } = deps.analyzer
      const counted = await readPrecision(deps.reads, [organizationId], deps.analyzer)
      const kinds = KINDS.map((kind) => {
        const sorts = tiersOf(name).flatMap((tier) => {
          const own = counted.find(
            (one) => one.kind === kind && one.tier === tier && one.language === (language ?? ''),
          )
          return CHANNELS.map((channel) => precisionOf(own, kind, tier, language, channel))
        })
        return { kind, shown: sorts.some(({ shown }) => shown), sorts }
      })
      return { analyzer: { name, version }, language, data: kinds }
    },
  }
}

/** Analyses that have read the gate of before end within this time. Stored findings follow after them. */
const FOLLOW_DELAY_MS = 2_000

/** The built-in analyser has two tiers, a model server one of its own. */
const tiersOf = (analyzer: string) => TIERS.filter((tier) => (tier === 'model') !== (analyzer === 'builtin'))

const isKind = (kind: string): kind is Kind => (KINDS as readonly string[]).includes(kind)

async function judge<Signal>(
  deps: VerdictsDeps<Signal>,
  viewer: Viewer,
  signalId: string,
  judgement: Judgement,
  also: Alongside<Judged<Signal>>,
): Promise<Judged<Signal>> {
  const { organizationId } = viewer
  return transactionWithOutbox(deps, async (tx, outbox) => {
    const seen = await deps.conversations.finding(tx, viewer, signalId)
    if (seen === undefined || !(await store.lockSubject(tx, organizationId, seen))) throw notFound()
    // An analysis may have changed it before the lock was granted.
    const finding = await deps.conversations.finding(tx, viewer, signalId)
    if (finding === undefined) throw notFound()
    const { kind, tier, analyzer, foundKind } = finding
    if (tier === null || analyzer === null || !isKind(kind))
      throw new AppError(
        'signal_not_correctable',
        'Only findings of the analysis can be corrected, not feedback that a user gave, nor findings of an older version.',
      )
    const decision = decide(kind, foundKind !== null && isKind(foundKind) ? foundKind : null, judgement)
    if (decision === null)
      throw invalid([
        {
          path: 'kind',
          code: 'contradiction',
          message: 'must be another kind than that of the finding, with verdict wrong',
        },
      ])
    const sort = {
      kind: decision.verdict.kind,
      tier,
      language: finding.language ?? '',
      analyzerName: analyzer.name,
      analyzerVersion: analyzer.version,
    }
    const { changed, own } = await record(deps, tx, viewer, finding, sort, decision)
    await outbox.send(
      changed.map((one) =>
        findingGateMessages.message(organizationId, 'follow', {
          organizationId,
          delayMs: FOLLOW_DELAY_MS,
          payload: { ...one, language: one.language === '' ? null : one.language },
        }),
      ),
    )
    const judged: Judged<Signal> = {
      signalId,
      kind: decision.verdict.kind,
      verdict: judgement.verdict,
      meantKind: decision.verdict.meantKind,
      signal: await deps.conversations.shownSignal(tx, viewer, signalId),
      precision: precisionOf(own, decision.verdict.kind, tier, finding.language, finding.channel),
    }
    await also(tx, judged)
    return judged
  })
}

/** Writes the verdict and its count, and applies it. @returns the sorts of which other findings are shown from now on */
async function record(
  { newId }: Pick<Deps, 'newId'>,
  tx: Tx,
  viewer: Viewer,
  finding: StoredFinding,
  sort: Sort,
  decision: Decision,
) {
  const { organizationId } = viewer
  const { wasRight, meantKind } = decision.verdict
  const about = { id: finding.id, newSubjectId: newId() }
  const subjectId = await store.subjectOf(tx, organizationId, finding, about)
  const earlier = await store.findVerdict(tx, organizationId, subjectId, sort.kind)
  const userId = viewer.kind === 'user' ? viewer.userId : null
  await store.saveVerdict(tx, organizationId, {
    ...sort,
    ...{ id: newId(), subjectId, wasRight, meantKind, userId },
  })
  const deltas = deltasOf(earlier, { ...sort, wasRight })
  const counts = await store.addToPrecision(tx, organizationId, deltas)
  const rating = ratingOf(decision.finding.kind)
  await store.applyVerdict(tx, organizationId, finding, { ...decision.finding, id: finding.id, rating })
  const changed = counts.flatMap(({ judged, right, ...one }) => {
    const delta = deltas.find((part) => keyOf(part) === keyOf(one))
    const before = { judged: judged - (delta?.judged ?? 0), right: right - (delta?.right ?? 0) }
    const isSame = String(channelsShown(one, before)) === String(channelsShown(one, { judged, right }))
    return isSame ? [] : [one]
  })
  const own = counts.find((one) => keyOf(one) === keyOf(sort))
  return { changed, own }
}

function precisionOf(
  own: { readonly judged: number; readonly right: number } | undefined,
  kind: Kind,
  tier: Tier,
  language: string | null,
  channel: Channel,
): Precision {
  const { judged: verdicts = 0, right: confirmed = 0 } = own ?? {}
  const gate = gateOf([confirmed, verdicts - confirmed], kind, tier, language, channel)
  const [right, wrong] = gate.figures
  const judged = right + wrong
  return {
    tier,
    channel,
    shown: gate.shown,
    source: gate.source,
    judged,
    right,
    precision: judged === 0 ? null : rounded(right / judged),
    lowerBound: judged === 0 ? null : rounded(lowerBound(right, judged)),
    verdictsNeeded: Math.max(0, MIN_VERDICTS - verdicts),
  }
}

const keyOf = ({ kind, tier, language, analyzerName, analyzerVersion }: Sort) =>
  [kind, tier, language, analyzerName, analyzerVersion].join('\n')

const rounded = (part: number) => Math.round(part * 1_000) / 1_000

const notFound = () => new AppError('agent_signal_not_found', 'There is no such signal.')
