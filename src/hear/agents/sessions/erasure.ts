/**
 * Erases a person from agent conversations: finds the sessions in which the person took part, and erases the person's names and
 * e-mail address in each.
 *
 * A session is erased in this order: participants, events, superseded revisions, signals. Every step locks the session. After
 * the revisions the erasure makes running analyses outdated, so a finding from the old text cannot come back.
 *
 * Each pass visits all sessions that were found so far, because a request or a turn that was running may have written into them.
 * Participants and context are erased once: what stands there afterwards was received later. A message tells its time itself.
 */
import type { Send } from '../../../actors/types.ts'
import { reindexSession } from '../../../kernel/messages/passage.ts'
import type { ErasedPerson, ErasureReach, ErasureStep } from '../../../people/erasure.ts'
import { createEraser } from '../../../people/erasure.ts'
import type { Json, Tx } from '../../../platform/db/pool.ts'
import type { NewId } from '../../../platform/ids.ts'
import type { Participant } from '../model.ts'
import {
  type Aliases,
  aliasOf,
  eraseBody,
  eraseParticipant,
  idsOf,
  isAddressOf,
  isPerson,
} from './erasure.rules.ts'
import * as store from './erasure.store.ts'

/** Sessions that one step searches. */
const SCANNED = 1_000
/** Events, revisions or signals of one step. An event has up to 256 KiB. */
const ROWS = 100

const BEFORE_ALL_IDS = '00000000-0000-0000-0000-000000000000'

/** The session that is being erased. */
interface Current {
  readonly id: string
  readonly part: 'events' | 'revisions' | 'signals'
  readonly aliases: Aliases
  /** Further names of the person in this session. */
  readonly names: readonly string[]
  readonly after: readonly [string | number, (string | number)?]
  /** Whether something was erased from the session in this pass. Absent in erasures that an older version began. */
  readonly changed?: boolean
}

interface State {
  /** The search continues after this session; null: at the newest. */
  readonly scanned: store.Place | null
  readonly scanEnded: boolean
  readonly found: readonly string[]
  /** After the search, the sessions that were found are erased one after the other, by id. */
  readonly visited?: string
  readonly current: Current | null
}

const START: State = { scanned: null, scanEnded: false, found: [], current: null }

export function sessionErasure({ newId }: { readonly newId: NewId }): ErasureReach {
  return {
    name: 'sessions',
    async step(tx, person, from, send) {
      const state = (from as State | null) ?? START
      if (state.current !== null) return proceed(tx, person, state, state.current, send)
      const [id, ...found] = state.found
      if (id !== undefined) return open(tx, person, { ...state, found }, id, newId)
      return state.scanEnded ? visit(tx, person, state) : scan(tx, person, state)
    },
    finish: store.forgetSessions,
  }
}

const step = (next: State, counts: ErasureStep['counts'] = {}): ErasureStep => ({
  next: next as unknown as Json,
  counts,
})

async function scan(tx: Tx, person: ErasedPerson, state: State): Promise<ErasureStep> {
  const { organizationId, requestedAt } = person
  const ids = idsOf(person)
  const rows = await store.scanSessions(
    tx,
    organizationId,
    ids,
    { until: requestedAt, describedUntil: person.pass === 1 ? null : requestedAt },
    state.scanned,
    SCANNED,
  )
  const last = rows.at(-1)
  return step({
    scanned: last === undefined ? state.scanned : [last.microseconds, last.id],
    scanEnded: rows.length < SCANNED,
    found: rows
      .filter(({ matches, variants }) => matches || variants.some((text) => isAddressOf(text, ids.emails)))
      .map(({ id }) => id),
    current: null,
  })
}

/** Goes on with the next of the sessions that were found. */
async function visit(tx: Tx, person: ErasedPerson, state: State): Promise<ErasureStep> {
  const next = await store.nextFoundSession(tx, person, state.visited ?? BEFORE_ALL_IDS)
  if (next === null) return { next: null, counts: {} }
  const { id, aliases, names, isNew } = next
  const current: Current = { id, part: 'events', aliases, names, after: [-1], changed: isNew }
  return step({ ...state, visited: id, current })
}

/** Starts with a session: erases its participants and its context. */
async function open(
  tx: Tx,
  person: ErasedPerson,
  state: State,
  id: string,
  newId: NewId,
): Promise<ErasureStep> {
  const scope = { organizationId: person.organizationId, sessionId: id }
  const session = await store.lockForErasure(tx, scope)
  const ids = idsOf(person)
  const mine = session?.participants.filter((participant) => isPerson(participant, ids)) ?? []
  if (session === null || mine.length === 0) return step(state)
  const aliases = Object.fromEntries(
    mine.flatMap(({ externalId }) => (externalId === undefined ? [] : [[externalId, `erased-${newId()}`]])),
  )
  const names = mine.flatMap(namesOf)
  if (!(await store.rememberSession(tx, person, { id, aliases, names }))) return step(state)
  const eraser = eraserOf(person, names)
  const participants = session.participants.map((participant) =>
    mine.includes(participant) ? eraseParticipant(participant, aliases) : participant,
  )
  await store.saveErasedSession(tx, scope, { participants, context: eraser.value(session.context) })
  await store.unlinkParticipants(
    tx,
    scope,
    mine.map(({ externalId = '' }) => externalId),
  )
  return step(state, { sessions: 1 })
}

function namesOf({ displayName, username }: Participant): readonly string[] {
  return [displayName, username].flatMap((name) => (name === undefined ? [] : [name.trim()]))
}

const eraserOf = (person: ErasedPerson, others: readonly string[]) =>
  createEraser({ ...person, names: [...person.names, ...others] })

/** Erases the next portion of the session's events, revisions or signals. */
async function proceed(
  tx: Tx,
  person: ErasedPerson,
  state: State,
  current: Current,
  send: Send,
): Promise<ErasureStep> {
  const scope = { organizationId: person.organizationId, sessionId: current.id }
  if ((await store.lockForErasure(tx, scope)) === null) return step({ ...state, current: null })
  const { after, counts, isLast, hasChanged } = await PARTS[current.part](tx, scope, person, current)
  const changed = (current.changed ?? true) || hasChanged
  const result = (next: Current | null) => ({
    ...step({ ...state, current: next }, counts),
    changed: hasChanged,
  })
  if (!isLast) return result({ ...current, changed, after })
  const next = FOLLOWING[current.part]
  // All events are erased now. Analyses that read them before are refused.
  if (next?.part === 'signals' && changed) {
    await store.refuseAnalyses(tx, scope)
    await send([reindexSession(scope.organizationId, scope.sessionId)])
  }
  return result(next === null ? null : { ...current, changed, ...next })
}

const FOLLOWING = {
  events: { part: 'revisions', after: ['', 0] },
  revisions: { part: 'signals', after: [-1, BEFORE_ALL_IDS] },
  signals: null,
} as const satisfies Record<Current['part'], Pick<Current, 'part' | 'after'> | null>

interface Portion {
  readonly after: Current['after']
  readonly counts: ErasureStep['counts']
  readonly isLast: boolean
  readonly hasChanged: boolean
}

const PARTS: Readonly<
  Record<
    Current['part'],
    (tx: Tx, scope: store.SessionId, person: ErasedPerson, current: Current) => Promise<Portion>
  >
> = { events: eraseEvents, revisions: eraseRevisions, signals: eraseSignals }

async function eraseEvents(
  tx: Tx,
  scope: store.SessionId,
  person: ErasedPerson,
  { aliases, names, after }: Current,
): Promise<Portion> {
  const rows = await store.readBodies(tx, scope, person.requestedAt, Number(after[0]), ROWS)
  const eraser = eraserOf(person, names)
  const changed = rows.flatMap((row) => {
    const body = eraseBody(row.body, eraser, aliases)
    return body === row.body ? [] : [{ ...row, body }]
  })
  await store.writeBodies(tx, scope, changed)
  const isLast = rows.length < ROWS
  const hasChanged = changed.length > 0
  return { after: [rows.at(-1)?.sequence ?? -1], counts: { events: changed.length }, isLast, hasChanged }
}

async function eraseRevisions(
  tx: Tx,
  scope: store.SessionId,
  person: ErasedPerson,
  { aliases, names, after }: Current,
): Promise<Portion> {
  const rows = await store.readRevisionBodies(
    tx,
    scope,
    person.requestedAt,
    [String(after[0]), Number(after[1])],
    ROWS,
  )
  const eraser = eraserOf(person, names)
  const changed = rows.flatMap((row) => {
    const body = eraseBody(row.body, eraser, aliases)
    return body === row.body ? [] : [{ ...row, body }]
  })
  await store.writeRevisionBodies(tx, scope, changed)
  const last = rows.at(-1)
  const isLast = rows.length < ROWS
  const place = [last?.externalEventId ?? '', last?.revision ?? 0] as const
  return { after: place, counts: {}, isLast, hasChanged: changed.length > 0 }
}

async function eraseSignals(
  tx: Tx,
  scope: store.SessionId,
  person: ErasedPerson,
  { aliases, names, after }: Current,
): Promise<Portion> {
  const rows = await store.readSignalTexts(
    tx,
    scope,
    person.requestedAt,
    [Number(after[0]), String(after[1])],
    ROWS,
  )
  const eraser = eraserOf(person, names)
  const changed = rows.flatMap(({ sequence: _, ...row }) => {
    const { participantExternalId: id } = row
    const participantExternalId = id === null ? null : aliasOf(id, aliases)
    const next = {
      ...row,
      labels: eraser.value(row.labels),
      comment: eraser.value(row.comment),
      participantExternalId,
    }
    const isSame = next.labels === row.labels && next.comment === row.comment && participantExternalId === id
    return isSame ? [] : [next]
  })
  await store.writeSignalTexts(tx, scope, changed)
  const last = rows.at(-1)
  const place = [last?.sequence ?? -1, last?.id ?? BEFORE_ALL_IDS] as const
  const counts = { signals: changed.length }
  return { after: place, counts, isLast: rows.length < ROWS, hasChanged: changed.length > 0 }
}
