/** `/v3/rest/actors`: what waits for processing in the organization, and what was given up. */
import { retryDeadLetter, skipMessage, type Within } from '../../actors/dead-letters.ts'
import {
  listOwnDeadLetters,
  listWaitingMessages,
  type OwnDeadLetter,
  type WaitingMessage,
} from '../../actors/organization-messages.ts'
import { noContent, type Operation, ok, operation } from '../../http/operation.ts'
import { keyset, toPage } from '../../http/paging.ts'
import { integerId } from '../../http/parameters.ts'
import type { Deps } from '../../kernel/deps.ts'
import { AppError } from '../../platform/errors.ts'
import { recorded } from '../audit/change.ts'
import * as model from './model.ts'

const ACTORS = '/v3/rest/actors'
const MESSAGE = `${ACTORS}/{actorKey}/messages/{messageNumber}`
const TAG = 'Administration'
const NOT_FOUND = 'actor_message_not_found'

const waitingOrder = keyset('actor-messages', ['text', 'integer', 'text', 'integer'])
const deadOrder = keyset('dead-letters', ['integer', 'text', 'integer'])

type ActorDeps = Pick<Deps, 'sql' | 'reads' | 'notifier'>

export function actorOperations(deps: ActorDeps): readonly Operation[] {
  return [listWaiting(deps), listDead(deps), retry(deps), skip(deps)]
}

const listWaiting = ({ reads }: ActorDeps) =>
  operation({
    id: 'listWaitingMessages',
    method: 'GET',
    path: ACTORS,
    tag: TAG,
    summary: 'List waiting messages of actors',
    description:
      'Work of the organization that waits: by kind of actor, then the longest wait first. A message that failed waits for its next attempt.',
    access: 'organizationOrUser',
    role: 'administrator',
    query: model.WaitingMessageQuery,
    success: { status: 200, description: 'A page of messages', schema: model.WaitingMessagePage },
    async handler({ principal, query }) {
      const { limit, cursor, kind } = query()
      const slice = { after: waitingOrder.decode(cursor), limit }
      const rows = await listWaitingMessages(reads, principal.organizationId, kind, slice)
      const next = (row: WaitingMessage) =>
        waitingOrder.encode([row.kind, row.availableMicroseconds, row.key, row.seq])
      return ok(
        toPage(rows, limit, next, ({ key, seq, type, attempts, availableAt }) => ({
          actor: key,
          number: seq,
          type,
          attempts,
          availableAt,
        })),
      )
    },
  })

const listDead = ({ reads }: ActorDeps) =>
  operation({
    id: 'listDeadLetters',
    method: 'GET',
    path: `${ACTORS}/dead-letters`,
    tag: TAG,
    summary: 'List dead letters',
    description: 'Messages of the organization that failed for the last time, newest first.',
    access: 'organizationOrUser',
    role: 'administrator',
    query: model.DeadLetterQuery,
    success: { status: 200, description: 'A page of dead letters', schema: model.DeadLetterPage },
    async handler({ principal, query }) {
      const { limit, cursor, actor } = query()
      const slice = { after: deadOrder.decode(cursor), limit }
      const rows = await listOwnDeadLetters(reads, principal.organizationId, actor, slice)
      const next = (row: OwnDeadLetter) => deadOrder.encode([row.deadMicroseconds, row.key, row.seq])
      return ok(
        toPage(rows, limit, next, ({ key, seq, type, attempts, deadSince }) => ({
          actor: key,
          number: seq,
          type,
          attempts,
          deadSince,
        })),
      )
    },
  })

const retry = (deps: ActorDeps) =>
  operation({
    id: 'retryDeadLetter',
    method: 'POST',
    path: `${MESSAGE}/retry`,
    params: model.ACTOR_PARAMS,
    tag: TAG,
    summary: 'Retry a dead letter',
    description:
      'Puts the dead letter back under its own number, so it runs before the messages that still wait for its actor. Its attempts start again.',
    access: 'organizationOrUser',
    role: 'administrator',
    success: { status: 204, description: 'The message waits again' },
    errors: [NOT_FOUND],
    async handler(call) {
      const { key, seq } = messageOf(call.param)
      const also = recorded(call, 'actor_message.retried', () => `${key} ${seq}`)
      return noContentIf(await retryDeadLetter(deps, key, seq, within(call.principal.organizationId, also)))
    },
  })

const skip = (deps: ActorDeps) =>
  operation({
    id: 'skipMessage',
    method: 'POST',
    path: `${MESSAGE}/skip`,
    params: model.ACTOR_PARAMS,
    tag: TAG,
    summary: 'Drop a dead letter or a failing message',
    description:
      'Drops a dead letter, or a waiting message that has failed at least once, for good. Its actor continues with the next one. ' +
      'A message that has not failed yet is 404.',
    access: 'organizationOrUser',
    role: 'administrator',
    success: { status: 204, description: 'The message is dropped' },
    errors: [NOT_FOUND],
    async handler(call) {
      const { key, seq } = messageOf(call.param)
      const also = recorded(call, 'actor_message.skipped', () => `${key} ${seq}`)
      return noContentIf(await skipMessage(deps, key, seq, within(call.principal.organizationId, also)))
    },
  })

const within = (organizationId: string, also: NonNullable<Within['also']>): Within => ({
  organizationId,
  also,
})

const KEY = /^[a-z][a-z-]*:[0-9a-f-]{36}$/

function messageOf(param: (name: string) => string) {
  const key = param('actorKey')
  if (!KEY.test(key)) noMessage()
  return { key, seq: integerId(param('messageNumber'), NOT_FOUND) }
}

function noContentIf(found: boolean) {
  return found ? noContent() : noMessage()
}

function noMessage(): never {
  throw new AppError(NOT_FOUND, 'The organization has no such dead letter or failing message.')
}
