/**
 * The actors of outbound webhooks (contract: Standard Webhooks 1.0).
 *
 * The actor of a subscription sends its events in the order of the organization's commits, one after the other, and moves the
 * cursor. A crash between an answer and its record repeats at most a few deliveries, under the same `webhook-id`. An event that fails
 * is sent again after five seconds, while later ones wait. If it fails again, a relaxed subscription puts it aside: it gets an actor
 * of its own, which follows the rest of the schedule, and later events go on.
 */
import { defineActor } from '../../actors/declaration.ts'
import type { ActorDefinition } from '../../actors/types.ts'
import type { Deps } from '../../kernel/deps.ts'
import {
  webhookDeliveryMessages,
  webhookMessages,
  webhookNoticeMessages,
  webhookRecoveryMessages,
} from '../../kernel/messages/webhook.ts'
import { Semaphore } from '../../platform/concurrency/semaphore.ts'
import { createMailer } from '../../platform/mail/create.ts'
import type { Mailer } from '../../platform/mail/mail.ts'
import { createSendOutbound } from '../../platform/net/outbound-request.ts'
import type { Resolve } from '../../platform/net/resolve.ts'
import { deliver } from './deliver.ts'
import { RETRY_SECONDS } from './delivery.rules.ts'
import { createDeliveryResults } from './metrics.ts'
import { announce } from './notice.ts'
import { recover } from './recover.ts'
import { redeliver, retry } from './retry.ts'
import type { SendingDeps } from './sending.ts'
import { createSecretSeal } from './signing.ts'

const TIMEOUT_MS = 15_000
const MAX_FAILING_SECONDS = 5 * 24 * 60 * 60
const TRANSACTIONS_AT_ONCE = 4
/** Failures of the database or of the process, not of receivers. */
const MAX_ATTEMPTS = 100
/** A turn ends itself long before. */
const TURN_TIMEOUT_MS = 10 * 60_000
/** With pauses of up to five minutes: about four hours without a mail server. */
const MAIL_ATTEMPTS = 60

/** What tests change. */
export interface WebhookOptions {
  readonly retrySeconds?: readonly number[]
  readonly timeoutMs?: number
  readonly maxFailingSeconds?: number
  readonly resolve?: Resolve
  readonly mailer?: Mailer
}

type WebhookActorDeps = Pick<Deps, 'config' | 'clock' | 'newId' | 'metrics' | 'outbound'>

export function webhookActors(
  deps: WebhookActorDeps,
  options: WebhookOptions = {},
): readonly ActorDefinition[] {
  const sending: SendingDeps = {
    clock: deps.clock,
    newId: deps.newId,
    seal: createSecretSeal(deps.config),
    sendOutbound: createSendOutbound({
      policy: deps.outbound,
      ...(options.resolve === undefined ? {} : { resolve: options.resolve }),
    }),
    timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
    retrySeconds: options.retrySeconds ?? RETRY_SECONDS,
    maxFailingSeconds: options.maxFailingSeconds ?? MAX_FAILING_SECONDS,
    chance: Math.random,
    results: createDeliveryResults(deps.metrics),
    transactions: new Semaphore(TRANSACTIONS_AT_ONCE),
  }
  const mailer = options.mailer ?? createMailer(deps.config)
  return [
    defineActor(webhookMessages, {
      maxAttempts: MAX_ATTEMPTS,
      turnTimeoutMsOf: { deliver: TURN_TIMEOUT_MS },
      handlers: { deliver: (turn) => deliver(sending, turn) },
    }),
    defineActor(webhookDeliveryMessages, {
      maxAttempts: MAX_ATTEMPTS,
      handlers: {
        retry: (turn) => retry(sending, turn),
        redeliver: (turn) => redeliver(sending, turn),
      },
    }),
    defineActor(webhookRecoveryMessages, {
      maxAttempts: MAX_ATTEMPTS,
      turnTimeoutMsOf: { recover: TURN_TIMEOUT_MS },
      handlers: { recover: (turn) => recover(sending, turn) },
    }),
    defineActor(webhookNoticeMessages, {
      maxAttempts: MAIL_ATTEMPTS,
      handlers: { disabled: (turn) => announce(deps.config, mailer, turn) },
    }),
  ]
}
