/** Shapes of webhooks and deliveries in the API. */
import { type Static, Type } from '@sinclair/typebox'
import { pageQuery } from '../../http/paging.ts'
import { momentParameter } from '../../http/parameters.ts'
import {
  count,
  createdAt,
  moment,
  named,
  oneOf,
  optionalOrNull,
  orNull,
  text,
  updatedAt,
  uuid,
} from '../../platform/validation/schema.ts'
import { EVENT_TYPES, SUBSCRIBABLE } from './event-types.ts'

/** Of one organization. */
export const MAX_WEBHOOKS = 50
const MAX_DESCRIPTION = 1_000
const MAX_URL = 2_048
/** Bytes of an answer that the log keeps. */
export const KEPT_ANSWER_BYTES = 4_096

const url = text(
  `Where events are sent by POST. http or https, at most ${MAX_URL} characters, on a public host or in \`OUTBOUND_ALLOW\`.`,
  {
    maxLength: MAX_URL,
    words: 'an absolute URL',
    documented: { format: 'uri', pattern: '^[hH][tT]{2}[pP][sS]?://' },
  },
)
const types = Type.Array(oneOf(SUBSCRIBABLE), {
  minItems: 1,
  maxItems: SUBSCRIBABLE.length,
  description: 'Types of events, or `["*"]` for all. Repeated ones count once.',
})
const description = optionalOrNull(
  text('A note for people.', { maxLength: MAX_DESCRIPTION }),
  `A note for people, at most ${MAX_DESCRIPTION} characters.`,
)
const ordering = oneOf(
  ['relaxed', 'strict'],
  '`relaxed`: an event that failed twice is retried beside later ones. `strict`: later events wait until it is delivered or given up, up to 28 hours.',
)
const enabled = Type.Boolean({ description: 'Whether events are sent.' })

export const CreateWebhook = Type.Object(
  {
    url,
    types,
    description,
    ordering: Type.Optional({ ...ordering, default: 'relaxed' }),
    enabled: Type.Optional({ ...enabled, default: true }),
  },
  { additionalProperties: false },
)
export type CreateWebhook = Static<typeof CreateWebhook>

export const UpdateWebhook = Type.Object(
  {
    url: Type.Optional(url),
    types: Type.Optional(types),
    description,
    ordering: Type.Optional(ordering),
    enabled: Type.Optional(enabled),
  },
  { additionalProperties: false, minProperties: 1 },
)
export type UpdateWebhook = Static<typeof UpdateWebhook>

const webhookMembers = {
  id: uuid('Id of the webhook.'),
  url: Type.String({ description: 'Where events are sent.' }),
  types: Type.Array(Type.String(), { description: 'Types of events; `*`: all.' }),
  description: orNull(Type.String(), 'A note for people.'),
  ordering,
  enabled,
  disabledReason: orNull(
    oneOf(['request', 'gone', 'failing']),
    'Why no events are sent: somebody disabled it, the receiver answered 410, or every attempt of five days failed.',
  ),
  disabledAt: orNull(moment('When it was disabled, in UTC.')),
  failingSince: orNull(
    moment('First failure since the last success, in UTC; null if the last attempt succeeded.'),
  ),
  recoverableSince: orNull(
    moment(
      'Events after this moment may be missing at the receiver, in UTC: ask for them with `recover`. Null if nothing is known to be missing.',
    ),
  ),
  createdAt,
  updatedAt,
}

export const Webhook = named('Webhook', Type.Object(webhookMembers))
export const WebhookWithSecret = named(
  'WebhookWithSecret',
  Type.Object({
    ...webhookMembers,
    secret: Type.String({ description: 'Verifies signatures. Shown once: store it at the receiver.' }),
  }),
)
export const WebhookSecret = named(
  'WebhookSecret',
  Type.Object({
    secret: Type.String({ description: 'The new secret. Shown once.' }),
    previousValidUntil: moment('Until then the previous secret signs, too. In UTC.'),
  }),
)

export const RecoverWebhook = Type.Object(
  {
    since: moment('Events from this moment on that were not delivered are sent again.'),
    until: Type.Optional(moment('Events before this moment. Default: now.')),
  },
  { additionalProperties: false },
)
export type RecoverWebhook = Static<typeof RecoverWebhook>

export const WebhookRecovery = named(
  'WebhookRecovery',
  Type.Object({
    since: moment('Start of the period, in UTC.'),
    until: moment('End of the period, in UTC.'),
  }),
)

export const WebhookQuery = Type.Object(pageQuery(100, 20))

const status = oneOf(
  ['pending', 'retrying', 'delivered', 'failed'],
  '`pending`: sent again before later events. `retrying`: sent again beside later ones. `failed`: given up.',
)
const eventType = oneOf([...Object.keys(EVENT_TYPES)] as (keyof typeof EVENT_TYPES)[], 'Type of the event.')

export const DeliveryQuery = Type.Object({
  ...pageQuery(100, 20),
  type: Type.Optional(eventType),
  status: Type.Optional(status),
  since: Type.Optional(momentParameter('Only deliveries begun at or after this moment.')),
  until: Type.Optional(momentParameter('Only deliveries begun before this moment.')),
})

const deliveryMembers = {
  id: uuid('Id of the delivery.'),
  eventId: uuid('Id of the event: `webhook-id` of every attempt.'),
  type: Type.String({ description: 'Type of the event.' }),
  status,
  attempts: count('Attempts so far.'),
  nextAttemptAt: orNull(moment('When the next attempt is due, in UTC; null if there is none.')),
  createdAt: moment('When the first attempt was made, in UTC.'),
  updatedAt,
}

export const WebhookDelivery = named('WebhookDelivery', Type.Object(deliveryMembers))

const Attempt = Type.Object({
  number: Type.Integer({ minimum: 1, description: 'Number of the attempt, from 1.' }),
  manual: Type.Boolean({ description: 'Whether somebody asked for it.' }),
  startedAt: moment('When the attempt began, in UTC.'),
  durationMs: count('Milliseconds.'),
  status: orNull(Type.Integer(), 'Status of the answer; null if there was none.'),
  error: orNull(Type.String(), 'Why there was no answer.'),
  headers: orNull(Type.Record(Type.String(), Type.String()), 'Headers of the answer.'),
  body: orNull(Type.String(), `Body of the answer, its first ${KEPT_ANSWER_BYTES} bytes.`),
})

export const WebhookDeliveryWithAttempts = named(
  'WebhookDeliveryWithAttempts',
  Type.Object({
    ...deliveryMembers,
    event: Type.Object(
      {
        type: Type.String({ description: 'Type of the event.' }),
        timestamp: moment('When it happened, in UTC.'),
        data: orNull(
          Type.Object({}, { additionalProperties: true }),
          'Data of the event; null for users, whose access to objects is ruled one by one.',
        ),
      },
      { description: 'The body of each attempt.' },
    ),
    log: Type.Array(Attempt, { description: 'The attempts, oldest first.' }),
  }),
)
