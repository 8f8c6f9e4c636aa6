/** Outbound webhooks: subscriptions, their deliveries, and a receiver for development. */

import type { DeliveryRow, WebhookRow, Webhooks } from '../../tell/webhooks/service.ts'
import type { Command, Flag, Input, Output } from '../command.ts'
import { UsageError, wholeNumber } from '../command.ts'
import { inOrganization, ORG_FLAG } from '../in-organization.ts'
import { pairs, table } from '../output.ts'
import type { Services } from '../services.ts'
import { REMOTE_FLAGS } from './upload.ts'

/** The REST API lists more than this, page by page. */
const MAX_LISTED = 1_000

const CHANGE_FLAGS: Readonly<Record<string, Flag>> = {
  ...ORG_FLAG,
  type: {
    value: 'type',
    summary: 'a type of event, such as signal.created; repeatable (*: all)',
    repeated: true,
  },
  description: { value: 'text', summary: 'a note for people' },
  strict: { summary: 'later events wait until a failing one is delivered or given up' },
}

/** Runs `work` on the webhooks of the organization. */
function withWebhooks(
  input: Input,
  work: (webhooks: Webhooks, organizationId: string, services: Services) => Promise<Output>,
): Promise<Output> {
  return inOrganization(input, async (services, { id }) => {
    const { createWebhooks } = await import('../../tell/webhooks/service.ts')
    return work(createWebhooks(services.container), id, services)
  })
}

const shown = ({ createdMicroseconds: _, ...row }: WebhookRow) => row
const shownDelivery = ({ createdMicroseconds: _, ...row }: DeliveryRow) => row
const lines = (row: WebhookRow) => {
  const { types, ...rest } = shown(row)
  return pairs({ ...rest, types: types.join(', ') })
}

/** The types that the flags name. @throws UsageError */
async function typesOf(input: Input) {
  const { SUBSCRIBABLE } = await import('../../tell/webhooks/event-types.ts')
  return input.flags('type').map((named) => {
    const type = SUBSCRIBABLE.find((one) => one === named)
    if (type === undefined) throw new UsageError(`--type must be one of ${SUBSCRIBABLE.join(', ')}`)
    return type
  })
}

const subscriptions: readonly Command[] = [
  {
    name: 'webhook create',
    args: ['url'],
    summary: 'Create a webhook; prints the secret once',
    flags: { ...CHANGE_FLAGS, disabled: { summary: 'send nothing until it is enabled' } },
    run: (input) =>
      withWebhooks(input, async (webhooks, organizationId) => {
        const types = await typesOf(input)
        const description = input.flag('description')
        const { secret, ...row } = await webhooks.create(organizationId, {
          url: input.arg('url'),
          types: types.length === 0 ? ['*'] : types,
          ...(description === undefined ? {} : { description }),
          ordering: input.has('strict') ? 'strict' : 'relaxed',
          enabled: !input.has('disabled'),
        })
        return {
          json: { organizationId, ...shown(row), secret },
          lines: [...lines(row), ...pairs({ secret })],
        }
      }),
  },
  {
    name: 'webhook list',
    args: [],
    summary: 'List the webhooks, newest first',
    flags: ORG_FLAG,
    run: (input) =>
      withWebhooks(input, async (webhooks, organizationId) => {
        const rows = await webhooks.list(organizationId, { after: null, limit: MAX_LISTED })
        const columns = {
          id: (row: WebhookRow) => row.id,
          enabled: (row: WebhookRow) => row.disabledReason ?? 'yes',
          'failing since': (row: WebhookRow) => row.failingSince,
          types: (row: WebhookRow) => row.types.join(', '),
          url: (row: WebhookRow) => row.url,
        }
        return {
          json: { organizationId, webhooks: rows.map(shown) },
          lines: table(rows, columns, 'no webhooks'),
        }
      }),
  },
  {
    name: 'webhook show',
    args: ['webhook'],
    summary: 'Show a webhook, without its secret',
    flags: ORG_FLAG,
    run: (input) =>
      withWebhooks(input, async (webhooks, organizationId) => {
        const row = await webhooks.get(organizationId, input.arg('webhook'))
        return { json: { organizationId, ...shown(row) }, lines: lines(row) }
      }),
  },
  {
    name: 'webhook update',
    args: ['webhook'],
    summary: 'Change a webhook, enable or disable it',
    flags: {
      ...CHANGE_FLAGS,
      target: { value: 'url', summary: 'where events are sent' },
      relaxed: { summary: 'later events wait for the first retry of a failing one only' },
      enable: { summary: 'send new events from now on' },
      disable: { summary: 'send nothing' },
    },
    run: (input) =>
      withWebhooks(input, async (webhooks, organizationId) => {
        const change = await changeOf(input)
        const row = await webhooks.update(organizationId, input.arg('webhook'), async () => change)
        return { json: { organizationId, ...shown(row) }, lines: lines(row) }
      }),
  },
  {
    name: 'webhook delete',
    args: ['webhook'],
    summary: 'Delete a webhook with its log',
    flags: ORG_FLAG,
    run: (input) =>
      withWebhooks(input, async (webhooks, organizationId) => {
        await webhooks.remove(organizationId, input.arg('webhook'))
        return { json: { organizationId, id: input.arg('webhook') }, lines: ['deleted'] }
      }),
  },
  {
    name: 'webhook rotate',
    args: ['webhook'],
    summary: 'Replace the secret; the old one signs for 24 hours more',
    flags: ORG_FLAG,
    run: (input) =>
      withWebhooks(input, async (webhooks, organizationId) => {
        const rotated = await webhooks.rotate(organizationId, input.arg('webhook'))
        return { json: { organizationId, ...rotated }, lines: pairs(rotated) }
      }),
  },
]

async function changeOf(input: Input) {
  if (input.has('enable') && input.has('disable'))
    throw new UsageError('--enable and --disable exclude each other')
  if (input.has('strict') && input.has('relaxed'))
    throw new UsageError('--strict and --relaxed exclude each other')
  const types = await typesOf(input)
  const [url, description] = [input.flag('target'), input.flag('description')]
  const change = {
    ...(url === undefined ? {} : { url }),
    ...(types.length === 0 ? {} : { types }),
    ...(description === undefined ? {} : { description }),
    ...(input.has('strict') ? { ordering: 'strict' as const } : {}),
    ...(input.has('relaxed') ? { ordering: 'relaxed' as const } : {}),
    ...(input.has('enable') ? { enabled: true } : {}),
    ...(input.has('disable') ? { enabled: false } : {}),
  }
  if (Object.keys(change).length === 0)
    throw new UsageError('nothing to change: see earshot webhook update --help')
  return change
}

const deliveries: readonly Command[] = [
  {
    name: 'webhook ping',
    args: ['webhook'],
    summary: 'Send a test event',
    flags: ORG_FLAG,
    run: (input) =>
      withWebhooks(input, async (webhooks, organizationId) => {
        const row = shownDelivery(await webhooks.ping(organizationId, input.arg('webhook')))
        return { json: { organizationId, ...row }, lines: pairs(row) }
      }),
  },
  {
    name: 'webhook deliveries',
    args: ['webhook'],
    summary: 'List deliveries, newest first',
    flags: {
      ...ORG_FLAG,
      status: { value: 'status', summary: 'pending, retrying, delivered or failed' },
      limit: { value: 'number', summary: `deliveries (default: 20, at most ${MAX_LISTED})` },
    },
    run: (input) =>
      withWebhooks(input, async (webhooks, organizationId) => {
        const limit = wholeNumber('--limit', input.flag('limit') ?? '20', 1, MAX_LISTED)
        const filter = { status: statusOf(input.flag('status')) }
        const query = () => ({ filter, slice: { after: null, limit } })
        const found = await webhooks.deliveries(organizationId, input.arg('webhook'), query)
        const rows = found.rows.slice(0, limit)
        const columns = {
          id: (row: DeliveryRow) => row.id,
          type: (row: DeliveryRow) => row.type,
          status: (row: DeliveryRow) => row.status,
          attempts: (row: DeliveryRow) => row.attempts,
          created: (row: DeliveryRow) => row.createdAt,
          next: (row: DeliveryRow) => row.nextAttemptAt,
        }
        return {
          json: { organizationId, deliveries: rows.map(shownDelivery) },
          lines: table(rows, columns, 'no deliveries'),
        }
      }),
  },
  {
    name: 'webhook redeliver',
    args: ['webhook', 'delivery'],
    summary: 'Send an event once more, delivered or not',
    flags: ORG_FLAG,
    run: (input) =>
      withWebhooks(input, async (webhooks, organizationId) => {
        const id = input.arg('webhook')
        const row = shownDelivery(await webhooks.redeliver(organizationId, id, input.arg('delivery')))
        return { json: { organizationId, ...row }, lines: pairs(row) }
      }),
  },
  {
    name: 'webhook recover',
    args: ['webhook'],
    summary: 'Send the events of a period again that were not delivered',
    flags: {
      ...ORG_FLAG,
      since: { value: 'time', summary: 'start of the period, such as 2026-01-02T03:04:05Z', required: true },
      until: { value: 'time', summary: 'end of the period (default: now)' },
    },
    run: (input) =>
      withWebhooks(input, async (webhooks, organizationId) => {
        const until = input.flag('until')
        const period = { since: input.flag('since') ?? '', ...(until === undefined ? {} : { until }) }
        const begun = await webhooks.recover(organizationId, input.arg('webhook'), async () => period)
        return { json: { organizationId, ...begun }, lines: pairs(begun) }
      }),
  },
]

const STATUSES = ['pending', 'retrying', 'delivered', 'failed'] as const

function statusOf(text: string | undefined) {
  const status = STATUSES.find((one) => one === text)
  if (text !== undefined && status === undefined)
    throw new UsageError(`--status must be one of ${STATUSES.join(', ')}`)
  return status
}

const listening: readonly Command[] = [
  {
    name: 'webhook listen',
    args: [],
    summary: 'Print events as they happen, for development, until Ctrl-C',
    flags: {
      ...REMOTE_FLAGS,
      type: { value: 'type', summary: 'a type of event; repeatable (default: all)', repeated: true },
      host: {
        value: 'address',
        summary: 'address of this machine that the service reaches (default: 127.0.0.1)',
      },
      port: { value: 'number', summary: 'port to listen on (default: a free one)' },
    },
    async run(input) {
      const { listenToWebhooks } = await import('../webhook-listen.ts')
      return listenToWebhooks(input)
    },
  },
]

export const webhookCommands: readonly Command[] = [...subscriptions, ...deliveries, ...listening]
