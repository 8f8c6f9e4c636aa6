/**
 * Erases a person from sessions of coding agents that have the person's address or whole name. These sessions have no participants, so
 * all events of the organization are searched, a portion at a step.
 */

import { isFileAwaited } from '../../calls/uploads/file-uploads.ts'
import type { ErasedPerson, ErasureReach, ErasureStep } from '../../people/erasure.ts'
import type { Json, Tx } from '../../platform/db/pool.ts'
import { patternsOf } from './erasure.rules.ts'
import * as store from './erasure.store.ts'

/** Events that one step searches, or erases. An event has up to 256 KiB. */
const SCANNED = 200
const ROWS = 100

const BEFORE_ALL_IDS = '00000000-0000-0000-0000-000000000000'

interface State {
  readonly part: 'events' | 'sessions' | 'uploads'
  /** The search continues after this id; null: it has ended. */
  readonly after: string | null
  readonly found: readonly string[]
  /** The session that is being erased. */
  readonly current: { readonly id: string; readonly after: readonly [number, string] } | null
}

const START: State = { part: 'events', after: BEFORE_ALL_IDS, found: [], current: null }

const step = (next: State | null, counts: ErasureStep['counts'] = {}): ErasureStep => ({
  next: next as unknown as Json,
  counts,
})

export const codingSessionErasure: ErasureReach = {
  name: 'codingSessions',
  async step(tx, person, from) {
    const state = (from as State | null) ?? START
    const patterns = patternsOf(person)
    if (patterns.length === 0) return step(null)
    if (state.part !== 'events') return eraseLabels(tx, person, patterns, state)
    if (state.current !== null) return eraseEvents(tx, person, state, state.current)
    const [id, ...found] = state.found
    if (id !== undefined) return open(tx, person, { ...state, found }, id)
    if (state.after === null) return step({ ...START, part: 'sessions' })
    const { last, sessionIds } = await store.scanEvents(
      tx,
      person.organizationId,
      patterns,
      person.requestedAt,
      state.after,
      SCANNED,
    )
    return step({ ...state, after: last, found: sessionIds })
  },
  isAwaited: (tx, { organizationId, requestedAt }) =>
    isFileAwaited(tx, organizationId, 'coding-sessions', requestedAt),
}

async function open(tx: Tx, person: ErasedPerson, state: State, id: string): Promise<ErasureStep> {
  const session = await store.lockSession(tx, person.organizationId, id, person.requestedAt)
  if (session === null) return step(state)
  if (session.isLabelledBefore)
    await store.writeLabels(tx, person.organizationId, withoutNames(person, [session]))
  return step({ ...state, current: { id, after: [-1, BEFORE_ALL_IDS] } }, { codingSessions: 1 })
}

async function eraseEvents(
  tx: Tx,
  { organizationId, eraser, requestedAt }: ErasedPerson,
  state: State,
  { id, after }: NonNullable<State['current']>,
): Promise<ErasureStep> {
  if ((await store.lockSession(tx, organizationId, id, requestedAt)) === null)
    return step({ ...state, current: null })
  const rows = await store.readBodies(tx, organizationId, id, requestedAt, after, ROWS)
  const changed = rows.flatMap((row) => {
    const body = eraser.value(row.body)
    return body === row.body ? [] : [{ ...row, body }]
  })
  await store.writeBodies(tx, organizationId, id, changed)
  const last = rows.at(-1)
  const current =
    last === undefined || rows.length < ROWS ? null : { id, after: [last.position, last.id] as const }
  return step({ ...state, current }, { codingEvents: changed.length })
}

/** The labels of sessions and of uploads that name the person, where no event does. */
async function eraseLabels(
  tx: Tx,
  person: ErasedPerson,
  patterns: readonly string[],
  state: State,
): Promise<ErasureStep> {
  const { organizationId, requestedAt } = person
  const [read, write] =
    state.part === 'sessions'
      ? [store.readNamedSessions, store.writeLabels]
      : [store.readNamedUploads, store.writeUploadLabels]
  const rows = await read(tx, organizationId, patterns, requestedAt, state.after ?? BEFORE_ALL_IDS, ROWS)
  await write(tx, organizationId, withoutNames(person, rows))
  const last = rows.at(-1)
  const counts = state.part === 'sessions' ? { codingSessions: rows.length } : {}
  const changed = rows.length > 0
  if (last !== undefined && rows.length === ROWS)
    return { ...step({ ...state, after: last.id }, counts), changed }
  return { ...step(state.part === 'sessions' ? { ...START, part: 'uploads' } : null, counts), changed }
}

function withoutNames({ eraser }: ErasedPerson, rows: readonly store.Labelled[]): readonly store.Labelled[] {
  return rows.map(({ id, title, repo, branch }) => ({
    id,
    title: eraser.value(title),
    repo: eraser.value(repo),
    branch: eraser.value(branch),
  }))
}
