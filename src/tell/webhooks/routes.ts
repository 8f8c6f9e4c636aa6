/** Operations on webhooks and their deliveries. */

import { Type } from '@sinclair/typebox'
import { recorded } from '../../access/audit/change.ts'
import { accepted, created, noContent, type Operation, ok, operation } from '../../http/operation.ts'
import { keyset, pageOf, toPage } from '../../http/paging.ts'
import { moment, uuidOf } from '../../http/parameters.ts'
import {
  CreateWebhook,
  DeliveryQuery,
  MAX_WEBHOOKS,
  RecoverWebhook,
  UpdateWebhook,
  Webhook,
  WebhookDelivery,
  WebhookDeliveryWithAttempts,
  WebhookQuery,
  WebhookRecovery,
  WebhookSecret,
  WebhookWithSecret,
} from './model.ts'
import type { DeliveryRow, WebhookRow, Webhooks } from './service.ts'

const WEBHOOKS = '/v3/rest/webhooks'
const WEBHOOK = `${WEBHOOKS}/{webhookId}`
const DELIVERIES = `${WEBHOOK}/deliveries`
const DELIVERY = `${DELIVERIES}/{deliveryId}`

const order = keyset('webhooks', ['integer', 'uuid'])
const deliveryOrder = keyset('webhookDeliveries', ['integer', 'uuid'])

const DELIVERY_EXAMPLE = {
  id: '0199a1b2-0000-7000-8000-000000000002',
  eventId: '6f1c2f5e-3b7d-4a55-9c0e-0d7a3f0c1b11',
  type: 'ping',
  status: 'delivered',
  attempts: 1,
  nextAttemptAt: null,
  createdAt: '2026-01-02T03:04:05.678Z',
  updatedAt: '2026-01-02T03:04:05.700Z',
  event: {
    type: 'ping',
    timestamp: '2026-01-02T03:04:05.600Z',
    data: { webhookId: '0199a1b2-0000-7000-8000-000000000001' },
  },
  log: [
    {
      number: 1,
      manual: true,
      startedAt: '2026-01-02T03:04:05.678Z',
      durationMs: 21,
      status: 204,
      error: null,
      headers: { server: 'example' },
      body: '',
    },
  ],
}

const common = { tag: 'Webhooks', access: 'organizationOrUser', role: 'administrator' } as const
const ofWebhook = { ...common, params: { webhookId: uuidOf('webhook') } }
const ofDelivery = { ...common, params: { ...ofWebhook.params, deliveryId: uuidOf('delivery') } }

/** Everything under `/v3/rest/webhooks`. */
export function webhookOperations(webhooks: Webhooks): readonly Operation[] {
  return [...subscriptions(webhooks), ...actions(webhooks), ...deliveries(webhooks)]
}

const subscriptions = (webhooks: Webhooks) => [
  operation({
    ...common,
    id: 'listWebhooks',
    method: 'GET',
    path: WEBHOOKS,
    summary: 'List webhooks',
    description: 'Newest first.',
    query: WebhookQuery,
    success: { status: 200, description: 'A page of webhooks', schema: pageOf(Webhook) },
    async handler({ principal, query }) {
      const { limit, cursor } = query()
      const rows = await webhooks.list(principal.organizationId, { after: order.decode(cursor), limit })
      const next = (row: WebhookRow) => order.encode([row.createdMicroseconds, row.id])
      return ok(toPage(rows, limit, next, webhook))
    },
  }),
  operation({
    ...common,
    id: 'createWebhook',
    method: 'POST',
    path: WEBHOOKS,
    summary: 'Create a webhook',
    description:
      'Events of the named types are sent to the URL from now on, in order and at least once, as `POST` with a JSON body ' +
      '`{type, timestamp, data}` of at most 256 KiB. The headers `webhook-id`, `webhook-timestamp` and `webhook-signature` follow ' +
      'Standard Webhooks 1.0. Answer 2xx within 15 seconds. Another answer is retried after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and ' +
      `10 h; 410 disables the webhook, as do five days of nothing but failures. An organization has at most ${MAX_WEBHOOKS}.`,
    body: CreateWebhook,
    example: { url: 'https://example.com/earshot', types: ['signal.created', 'agent_session.processed'] },
    success: { status: 201, description: 'The webhook with its secret', schema: WebhookWithSecret },
    errors: ['url_not_allowed', 'too_many_webhooks'],
    async handler(call) {
      const input = await call.body()
      const also = recorded<WebhookRow>(call, 'webhook.created', ({ id }) => id)
      const row = await webhooks.create(call.principal.organizationId, input, also)
      return created(`${WEBHOOKS}/${row.id}`, { ...webhook(row), secret: row.secret })
    },
  }),
  operation({
    ...ofWebhook,
    id: 'getWebhook',
    method: 'GET',
    path: WEBHOOK,
    summary: 'Read a webhook',
    description: 'Without its secret.',
    query: Type.Object({}),
    success: { status: 200, description: 'The webhook', schema: Webhook },
    errors: ['webhook_not_found'],
    async handler({ principal, id, query }) {
      const row = await webhooks.get(principal.organizationId, id('webhookId', 'webhook_not_found'))
      query()
      return ok(webhook(row))
    },
  }),
  operation({
    ...ofWebhook,
    id: 'updateWebhook',
    method: 'PATCH',
    path: WEBHOOK,
    summary: 'Change a webhook',
    description:
      'Absent members stay. Enabling a disabled webhook goes on with new events; `recoverableSince` then says from when on events may be ' +
      'missing, for `recover`. Waiting deliveries are sent at once.',
    body: UpdateWebhook,
    example: { types: ['*'], description: 'Our data warehouse' },
    success: { status: 200, description: 'The changed webhook', schema: Webhook },
    errors: ['webhook_not_found', 'url_not_allowed'],
    async handler(call) {
      const webhookId = call.id('webhookId', 'webhook_not_found')
      const also = recorded(call, 'webhook.updated', () => webhookId)
      return ok(webhook(await webhooks.update(call.principal.organizationId, webhookId, call.body, also)))
    },
  }),
  operation({
    ...ofWebhook,
    id: 'deleteWebhook',
    method: 'DELETE',
    path: WEBHOOK,
    summary: 'Delete a webhook',
    description: 'Deletes the webhook with its log. What waits is not sent any more.',
    success: { status: 204, description: 'The webhook is deleted' },
    errors: ['webhook_not_found'],
    async handler(call) {
      const webhookId = call.id('webhookId', 'webhook_not_found')
      const also = recorded(call, 'webhook.deleted', () => webhookId)
      await webhooks.remove(call.principal.organizationId, webhookId, also)
      return noContent()
    },
  }),
]

const actions = (webhooks: Webhooks) => [
  operation({
    ...ofWebhook,
    id: 'rotateWebhookSecret',
    method: 'POST',
    path: `${WEBHOOK}/secret`,
    summary: 'Replace the secret of a webhook',
    description:
      'The request has no body. For 24 hours both secrets sign, so that the receiver can change over.',
    success: { status: 201, description: 'The new secret', schema: WebhookSecret },
    errors: ['webhook_not_found'],
    async handler(call) {
      const webhookId = call.id('webhookId', 'webhook_not_found')
      const also = recorded(call, 'webhook.secret_rotated', () => webhookId)
      const secret = await webhooks.rotate(call.principal.organizationId, webhookId, also)
      return created(`${WEBHOOKS}/${webhookId}`, secret)
    },
  }),
  operation({
    ...ofWebhook,
    id: 'pingWebhook',
    method: 'POST',
    path: `${WEBHOOK}/ping`,
    summary: 'Send a test event',
    description:
      'Sends an event of the type `ping` once, also while the webhook is disabled. The request has no body. The delivery shows the result.',
    success: { status: 202, description: 'The delivery', schema: WebhookDelivery },
    errors: ['webhook_not_found'],
    async handler({ principal, id }) {
      const webhookId = id('webhookId', 'webhook_not_found')
      const row = await webhooks.ping(principal.organizationId, webhookId)
      return accepted(`${WEBHOOKS}/${webhookId}/deliveries/${row.id}`, delivery(row))
    },
  }),
  operation({
    ...ofWebhook,
    id: 'recoverWebhook',
    method: 'POST',
    path: `${WEBHOOK}/recover`,
    summary: 'Send missed events again',
    description:
      'Sends the events of a period that were not delivered: given up, or written while the webhook was disabled. In order, in the ' +
      'background, as far as the log reaches (`WEBHOOK_LOG_DAYS`).',
    body: RecoverWebhook,
    example: { since: '2026-11-01T00:00:00Z' },
    success: { status: 202, description: 'The period', schema: WebhookRecovery },
    errors: ['webhook_not_found', 'webhook_disabled', 'webhook_recovery_active'],
    async handler({ principal, id, body }) {
      const webhookId = id('webhookId', 'webhook_not_found')
      const period = await webhooks.recover(principal.organizationId, webhookId, body)
      return accepted(`${WEBHOOKS}/${webhookId}/deliveries`, period)
    },
  }),
]

const deliveries = (webhooks: Webhooks) => [
  operation({
    ...ofWebhook,
    id: 'listWebhookDeliveries',
    method: 'GET',
    path: DELIVERIES,
    summary: 'List deliveries',
    description: 'Events that were sent at least once, newest first. Kept for `WEBHOOK_LOG_DAYS` days.',
    query: DeliveryQuery,
    success: { status: 200, description: 'A page of deliveries', schema: pageOf(WebhookDelivery) },
    errors: ['webhook_not_found'],
    async handler({ principal, id, query }) {
      const found = await webhooks.deliveries(
        principal.organizationId,
        id('webhookId', 'webhook_not_found'),
        () => {
          const { limit, cursor, since, until, type, status } = query()
          const period = { since: moment('since', since), until: moment('until', until) }
          return {
            filter: { type, status, ...period },
            slice: { after: deliveryOrder.decode(cursor), limit },
          }
        },
      )
      const next = (row: DeliveryRow) => deliveryOrder.encode([row.createdMicroseconds, row.id])
      const end = found.end && deliveryOrder.encode(found.end)
      return ok(toPage(found.rows, found.query.slice.limit, next, delivery, end))
    },
  }),
  operation({
    ...ofDelivery,
    id: 'getWebhookDelivery',
    method: 'GET',
    path: DELIVERY,
    summary: 'Read a delivery',
    description:
      'With its event and every attempt: time, status, headers and the beginning of the body of the answer. The data of the event is ' +
      'for keys only: users get null, because they read objects by the rules of access.',
    query: Type.Object({}),
    success: {
      status: 200,
      description: 'The delivery',
      schema: WebhookDeliveryWithAttempts,
      example: DELIVERY_EXAMPLE,
    },
    errors: ['webhook_not_found', 'webhook_delivery_not_found'],
    async handler({ principal, id, query }) {
      const webhookId = id('webhookId', 'webhook_not_found')
      const deliveryId = id('deliveryId', 'webhook_delivery_not_found')
      const { event, log, ...row } = await webhooks.delivery(principal.organizationId, webhookId, deliveryId)
      query()
      const data = principal.kind === 'user' ? null : event.data
      return ok({ ...delivery(row), event: { ...event, data }, log })
    },
  }),
  operation({
    ...ofDelivery,
    id: 'redeliverWebhook',
    method: 'POST',
    path: `${DELIVERY}/redeliver`,
    summary: 'Send an event again',
    description:
      'Sends the event once more under the same `webhook-id`, with a new timestamp and the present secret, whether it was delivered or ' +
      'given up, also while the webhook is disabled. The request has no body.',
    success: { status: 202, description: 'The delivery', schema: WebhookDelivery },
    errors: ['webhook_not_found', 'webhook_delivery_not_found', 'webhook_delivery_under_way'],
    async handler({ principal, id }) {
      const webhookId = id('webhookId', 'webhook_not_found')
      const deliveryId = id('deliveryId', 'webhook_delivery_not_found')
      const row = await webhooks.redeliver(principal.organizationId, webhookId, deliveryId)
      return accepted(`${WEBHOOKS}/${webhookId}/deliveries/${row.id}`, delivery(row))
    },
  }),
]

function webhook({ createdMicroseconds: _, ...shown }: WebhookRow) {
  const { secret: __, ...rest } = { secret: null, ...shown }
  return rest
}

function delivery({ createdMicroseconds: _, ...shown }: DeliveryRow) {
  return shown
}
