/**
 * Links the participants of sessions with people.
 *
 * The turn of a session does it where the participants have changed since the last time, for all sessions of its transaction together.
 * Requests do not wait for it. The order of requests does not matter, because a turn replaces the links by those of the present
 * participants. Sessions of older versions are linked in the background.
 *
 * A `personId` that the organization does not have identifies nobody, and the address decides. The specification gives ingestion no
 * status for it, and a retry must not fail after a person was erased.
 */
import { createPeople, type Identity, type People } from '../../../people/service.ts'
import type { DataChange } from '../../../platform/db/data-change.ts'
import type { Query } from '../../../platform/db/pool.ts'
import { newId } from '../../../platform/ids.ts'
import { claimsOf, type ParticipantClaim } from './people.rules.ts'
import * as store from './people.store.ts'
import { type LockedSession, lockSessions } from './progress.store.ts'
import type { PerSession } from './session-table.store.ts'

/** Participants that one transaction looks for. A session has at most 1,000. */
const CLAIMS = 4_000
/** Sessions of one step in the background. */
const SESSIONS_PER_STEP = 100

export interface Linked {
  /** Ids of the sessions whose participants are linked now. */
  readonly done: ReadonlySet<string>
  /** Ids of the sessions that another turn must link. */
  readonly later: ReadonlySet<string>
}

interface Unlinked {
  readonly scope: LockedSession
  readonly claims: readonly ParticipantClaim[]
}

/** Links the locked sessions whose participants have changed. */
export function linkPeople(
  people: Pick<People, 'identify'>,
  tx: Query,
  sessions: readonly LockedSession[],
): Promise<Linked> {
  return link((claims) => people.identify(tx, claims), tx, sessions)
}

async function link(
  identify: (claims: Parameters<People['identify']>[1]) => Promise<readonly Identity[]>,
  tx: Query,
  sessions: readonly LockedSession[],
): Promise<Linked> {
  const due = sessions.flatMap((scope) =>
    scope.unlinked === null ? [] : [{ scope, claims: claimsOf(scope.unlinked) }],
  )
  if (due.length === 0) return { done: new Set(), later: new Set() }
  const now = firstOf(due)
  const later = new Set(due.slice(now.length).map(({ scope }) => scope.sessionId))
  const linked = await identifyAll(identify, now, later)
  // Most sessions have neither had nor got a person.
  const changed = linked.filter(({ scope, rows }) => scope.wasLinked || rows.length > 0)
  if (changed.length > 0) await store.replacePeople(tx, changed)
  await store.attributeSignals(
    tx,
    changed.flatMap(({ scope }) => ((scope as LockedSession).watermark < 0 ? [] : [scope])),
  )
  return { done: new Set(linked.map(({ scope }) => scope.sessionId)), later }
}

/** As many sessions as one transaction may link; at least one. */
function firstOf(due: readonly Unlinked[]): readonly Unlinked[] {
  let claims = 0
  return due.filter((one, index) => {
    claims += one.claims.length
    return index === 0 || claims <= CLAIMS
  })
}

interface LinkedSession extends PerSession<store.PersonOfSession> {
  readonly scope: LockedSession
}

async function identifyAll(
  identify: (claims: Parameters<People['identify']>[1]) => Promise<readonly Identity[]>,
  due: readonly Unlinked[],
  later: Set<string>,
): Promise<readonly LinkedSession[]> {
  const claims = due.flatMap(({ scope, claims: own }) =>
    own.map(({ publicId, email, name, boundary }) => {
      const { organizationId, createdAt: since } = scope
      return { organizationId, publicId, email, name, boundary, since }
    }),
  )
  const identities = await identify(claims)
  let next = 0
  return due.flatMap(({ scope, claims: own }) => {
    const found = own.map((claim) => ({ ...claim, identity: identities[next++] ?? null }))
    if (found.some(({ identity }) => identity === 'later')) {
      later.add(scope.sessionId)
      return []
    }
    return [{ scope, rows: peopleOf(found) }]
  })
}

/** Participants without an id of their own may be one person. */
function peopleOf(
  found: readonly (ParticipantClaim & { readonly identity: Identity })[],
): readonly store.PersonOfSession[] {
  const people = found.flatMap(({ externalId, sole, identity }) =>
    typeof identity === 'number' ? [{ externalId, sole, personId: identity }] : [],
  )
  return [...new Map(people.map((one) => [JSON.stringify([one.externalId, one.personId]), one])).values()]
}

/** Gives the places in sessions and the signals of a merged person to the one who is kept. Signals come last, so new ones are moved, too. */
export const movePeopleOfSessions = [store.moveLinks, store.moveSignals] as const

/** Links the sessions that were stored before participants became people. */
export const sessionPeopleChange: DataChange = {
  name: 'agent_session_people',
  table: 'agent_session',
  key: 'id',
  rowsPerStep: SESSIONS_PER_STEP,
  async change(tx, keys) {
    const people = createPeople({ newId })
    let sessions = await lockSessions(tx, keys)
    while (sessions.length > 0) {
      const { done, later } = await link((claims) => people.identifyPatiently(tx, claims), tx, sessions)
      await store.markLinked(
        tx,
        sessions.filter(({ sessionId }) => done.has(sessionId)),
      )
      sessions = sessions.filter(({ sessionId }) => later.has(sessionId))
    }
  },
}
