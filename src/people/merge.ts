/**
 * Merges one person into another. One transaction makes the ids and the address of the merged person stand for the one who is kept, and
 * moves a portion of what refers to the merged person. If more is left, an actor moves the rest, portion by portion. The merged row stays
 * until nothing refers to it; readers count it as the person who is kept (`withMoving`).
 *
 * Every transaction locks the people of the organization first (`alias.store.ts`), then people in the order of their ids.
 */
import { defineActor } from '../actors/declaration.ts'
import { transactionWithOutbox } from '../actors/mailbox.ts'
import type { ActorDefinition, LongTurn } from '../actors/types.ts'
import type { Deps } from '../kernel/deps.ts'
import { personMergeMessages } from '../kernel/messages/person-merge.ts'
import { lockingFirst } from '../platform/concurrency/caller.ts'
import type { Alongside } from '../platform/db/alongside.ts'
import type { Tx } from '../platform/db/pool.ts'
import { AppError } from '../platform/errors.ts'
import { invalid } from '../platform/validation/json.ts'
import { lockAlone } from './alias.store.ts'
import * as directory from './directory.store.ts'
import * as store from './merge.store.ts'

/** Moves at most `limit` references of one feature. @returns how many were moved */
export type Mover = (
  tx: Tx,
  organizationId: string,
  from: number,
  to: number,
  limit: number,
) => Promise<number>

export interface Merge {
  readonly person: directory.PersonRow
  /** The id that the merged person had. */
  readonly mergedId: number
}

/** References of each kind that one transaction moves. */
const PORTION = 1_000

export type MergeDeps = Pick<Deps, 'sql' | 'notifier' | 'log'> & { readonly movers: readonly Mover[] }

/**
 * Merges the person of `other` into the person of `kept`. Answers the person also where both are one already.
 * @throws AppError 404 `person_not_found`; 400 if both are the same id
 */
export async function mergePeople(
  deps: MergeDeps,
  organizationId: string,
  kept: directory.PersonRef,
  other: string,
  also?: Alongside<Merge>,
): Promise<directory.PersonRow> {
  const merge = await lockingFirst(`people of ${organizationId}`, () =>
    transactionWithOutbox(deps, async (tx, outbox) => {
      await lockAlone(tx, organizationId)
      const { target, source } = await lockBoth(tx, organizationId, kept, other)
      if (target.id === source.id) {
        if (other === target.publicId && [target.id, target.publicId].includes(kept)) throw samePerson()
        return { person: await read(tx, organizationId, target.id), mergedId: null }
      }
      await join(tx, organizationId, target, source)
      const isMoved = await move(deps.movers, tx, organizationId, source.id, target.id)
      const result = { person: await read(tx, organizationId, target.id), mergedId: source.id }
      await also?.(tx, result)
      if (!isMoved)
        await outbox.send([
          personMergeMessages.message(source.publicId, 'move', {
            organizationId,
            payload: { organizationId },
          }),
        ])
      return result
    }),
  )
  if (merge.mergedId !== null)
    deps.log.info({ organizationId, personId: merge.person.id, mergedId: merge.mergedId }, 'people merged')
  return merge.person
}

async function lockBoth(tx: Tx, organizationId: string, kept: directory.PersonRef, other: string) {
  const target = await directory.lockPerson(tx, organizationId, kept)
  if (target === null) throw new AppError('person_not_found', 'There is no such person.')
  const source = await directory.lockPerson(tx, organizationId, other)
  if (source !== null) return { target, source }
  const details = [{ path: 'personId', code: 'not_found' as const, message: 'is not a known person' }]
  throw new AppError('person_not_found', 'personId: is not a known person', { details })
}

const samePerson = () =>
  invalid([{ path: 'personId', code: 'contradiction', message: 'must be another person' }])

/** Makes the one person stand for the other. What refers to the other is not moved yet. The caller has locked both. */
export async function join(
  tx: Tx,
  organizationId: string,
  target: directory.LockedPerson,
  source: directory.LockedPerson,
): Promise<void> {
  await store.redirect(tx, organizationId, source.id, target.id)
  await store.markMerged(tx, organizationId, source.id, target.id)
  await store.insertAlias(tx, organizationId, target.id, source, target.email === null ? null : source.email)
  await store.fillGaps(tx, organizationId, target.id, source)
}

async function read(tx: Tx, organizationId: string, id: number): Promise<directory.PersonRow> {
  const person = await directory.findPerson(tx, organizationId, id)
  if (person === undefined) throw new Error('the person is locked, but gone')
  return person
}

/** Moves a portion of each kind, and deletes the merged row once nothing is left. @returns true if nothing is left */
async function move(
  movers: readonly Mover[],
  tx: Tx,
  organizationId: string,
  from: number,
  to: number,
): Promise<boolean> {
  let isMoved = true
  for (const mover of movers)
    isMoved = (await mover(tx, organizationId, from, to, PORTION)) < PORTION && isMoved
  if (isMoved) await directory.deletePerson(tx, organizationId, from)
  return isMoved
}

/** Handles `move`, after both people have become one. The key has the public id of the merged person. */
export function personMergeActor(movers: readonly Mover[]): ActorDefinition {
  return defineActor(personMergeMessages, {
    maxAttempts: 20,
    handlers: { move: (turn) => moveRest(movers, turn) },
  })
}

/** Portions of one turn. Then another long turn gets its share. */
const PORTIONS = 20

async function moveRest(
  movers: readonly Mover[],
  turn: LongTurn<{ readonly organizationId: string }>,
): Promise<void> {
  const { id, payload } = turn.message
  const { organizationId } = payload
  const next = () =>
    turn.step(async (tx) => {
      const merged = await store.lockMerged(tx, organizationId, id)
      return merged === null || (await move(movers, tx, organizationId, merged.id, merged.mergedInto))
    })
  let isMoved = false
  for (let portion = 0; portion < PORTIONS && !isMoved; portion++) {
    turn.signal.throwIfAborted()
    isMoved = await next()
  }
  await turn.finish(async (_, send) => {
    if (!isMoved) await send([personMergeMessages.message(id, 'move', { organizationId, payload })])
  })
}
