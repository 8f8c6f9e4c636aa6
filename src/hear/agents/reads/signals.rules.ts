/** What a list of signals is asked for. Pure. */
import type { Channel } from '../../../kernel/channel.ts'
import type { Period, Rating, SignalKind, SignalSource } from '../model.ts'
import type { SignalRow } from './signal.ts'

export interface SignalFilter {
  /** Bounds on the time of the signal's event. */
  readonly occurred: Period
  /** Bounds on the time at which the signal was stored. */
  readonly created: Period
  readonly source?: SignalSource | undefined
  /** `none`: those without a rating. */
  readonly rating?: Rating | 'none' | undefined
  readonly kind?: SignalKind | undefined
  readonly agentKey?: string | undefined
  readonly channel?: Channel | undefined
  readonly productArea?: string | undefined
  readonly agentVersion?: string | undefined
  /** Integer id or UUID of a person, also of one who was merged. */
  readonly personId?: string | undefined
  readonly recordId?: number | undefined
  readonly recordingId?: string | undefined
  /** False: only findings that are not precise enough to be shown. */
  readonly shown?: boolean | undefined
}

/** The kinds that replaced those of older versions. */
const REPLACED: Readonly<Partial<Record<SignalKind, readonly SignalKind[]>>> = {
  user_sentiment: ['praise', 'complaint'],
  resolved: ['resolved_confirmation'],
  unresolved: ['wrong_answer', 'human_requested'],
  repeated_question: ['repeated_problem'],
}

/** The kinds that a filter selects: a kind of an older version also selects those that replaced it. */
export const kindsMeant = (kind: SignalKind): readonly SignalKind[] => [kind, ...(REPLACED[kind] ?? [])]

export const isBounded = ({ since, until }: Period): boolean => since !== undefined || until !== undefined

/**
 * The order of a list of signals, newest first: by the time of the event for one person, and where only that time is bounded; otherwise
 * by arrival.
 */
export function orderOfSignals({
  occurred,
  created,
  personId,
}: Pick<SignalFilter, 'occurred' | 'created' | 'personId'>): 'createdMoment' | 'occurredMoment' {
  if (personId !== undefined) return 'occurredMoment'
  return isBounded(occurred) && !isBounded(created) ? 'occurredMoment' : 'createdMoment'
}

/** A signal without what only its place in a list needs. */
export type SignalResource = Omit<SignalRow, 'createdMoment' | 'occurredMoment'>

/** The members of a signal in the API. */
export function signalResource({ createdMoment: _, occurredMoment: __, ...row }: SignalRow): SignalResource {
  return row
}
