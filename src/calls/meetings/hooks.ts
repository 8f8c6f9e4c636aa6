/**
 * `POST /hooks/recorder/{name}`: webhooks of the recorder.
 *
 * A webhook is a nudge. It is verified, and then the actor of the join asks the recorder, as it would have done a little later. So a lost,
 * forged, doubled or late webhook changes nothing. The address is public: the limit for a client comes first, then a small body, then
 * the signature, and only then the database.
 */

import { type Context, Elysia } from 'elysia'
import { transactionWithOutbox } from '../../actors/mailbox.ts'
import type { BodyBudget } from '../../http/body-budget.ts'
import { clientIp, countingKey, trustedProxies } from '../../http/client-ip.ts'
import { createCounter } from '../../http/rate-limit.ts'
import { readBytes } from '../../http/read-body.ts'
import type { Deps } from '../../kernel/deps.ts'
import { meetingMessages } from '../../kernel/messages/meeting.ts'
import { asCaller } from '../../platform/concurrency/caller.ts'
import { AppError } from '../../platform/errors.ts'
import { isUuid } from '../../platform/ids.ts'
import { methodNotAllowed } from '../../platform/net/methods.ts'
import type { Nudge, RecorderDeps } from './recorder.ts'
import { findNudged } from './store.ts'

const PATH = '/hooks/recorder/:name'
/** Vexa sends the whole meeting; the others a few members. */
const MAX_BYTES = 256 * 1024
/** Longer than any id of a bot. */
const MAX_BOT_ID = 200

export type HookDeps = Pick<
  Deps & RecorderDeps,
  'config' | 'redis' | 'clock' | 'log' | 'sql' | 'notifier' | 'recorder' | 'metrics'
> & { readonly bodies: BodyBudget }

type Arrived = Pick<Context, 'request' | 'server'> & { readonly params: { readonly name: string } }

export function recorderHooks(deps: HookDeps) {
  const count = createCounter(deps, 'recorder-hooks', deps.config.rateLimits.recorderHooks)
  const isTrusted = trustedProxies(deps.config.trustedProxies)
  const keyOf = ({ request, server }: Arrived) => {
    const address = clientIp(server?.requestIP(request)?.address ?? null, request.headers, isTrusted)
    return address === null ? 'ip:unknown' : `ip:${countingKey(address)}`
  }
  const hidden = { parse: 'none', detail: { hide: true } } as const
  return new Elysia({ name: 'recorder-hooks', normalize: false })
    .post(
      PATH,
      async (arrived) => {
        const caller = keyOf(arrived)
        await count(caller)
        return deps.bodies.lease(caller, async (lease) => {
          const { request, params } = arrived
          if (deps.recorder.name === 'none' || params.name !== deps.recorder.name)
            throw new AppError('not_found', 'Nothing exists at this address.')
          const body = await readBytes(request, MAX_BYTES, lease)
          const nudge = deps.recorder.verifyNudge(request.headers, body)
          if (nudge === null)
            throw new AppError('unauthenticated', 'The webhook is not signed by the recorder.')
          await asCaller('recorder', () => pass(deps, nudge))
          return new Response(null, { status: 204 })
        })
      },
      hidden,
    )
    .all(
      PATH,
      ({ request }) => {
        throw methodNotAllowed(request.method, 'POST')
      },
      hidden,
    )
}

/** Several webhooks of one moment lead to one check. A webhook about an unknown bot is for someone else. */
async function pass({ sql, recorder, ...deps }: HookDeps, { botId, joinId }: Nudge): Promise<void> {
  const known = {
    botId: botId !== undefined && botId.length <= MAX_BOT_ID ? botId : null,
    joinId: joinId !== undefined && isUuid(joinId) ? joinId : null,
  }
  const join = await findNudged(sql, recorder.name, known)
  if (join === null) return
  const { id, organizationId } = join
  await transactionWithOutbox({ sql, ...deps }, (_, outbox) =>
    outbox.sendUnlessWaiting([meetingMessages.message(id, 'check', { organizationId })]),
  )
}
