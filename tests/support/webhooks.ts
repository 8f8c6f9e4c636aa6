/** Receivers of webhooks, and servers that send to them. A receiver checks every signature with two libraries. */

import { Webhook as StandardWebhook } from 'standardwebhooks'
import { Webhook as SvixWebhook } from 'svix'
import type { RuntimeOptions } from '../../src/actors/options.ts'
import { createRuntime } from '../../src/actors/runtime.ts'
import { forwardTriggerWakeUps } from '../../src/actors/trigger-wake-ups.ts'
import { type WebhookOptions, webhookActors } from '../../src/tell/webhooks/actor.ts'
import { QUICK } from './actors.ts'
import {
  type Answer,
  type Client,
  startTestServer,
  type TestServer,
  type TestServerOptions,
} from './server.ts'

export const WEBHOOKS = '/v3/rest/webhooks'
export const LOCAL = { OUTBOUND_ALLOW: '127.0.0.0/8' }

/** Of JSON. */
type Members = Readonly<Record<string, unknown>>

export interface Received {
  readonly id: string
  readonly at: number
  readonly timestamp: string
  readonly signature: string
  readonly headers: Headers
  readonly body: string
  readonly event: { readonly type: string; readonly timestamp: string; readonly data: Members }
  /** From 1, of this id. */
  readonly attempt: number
}

export interface TestReceiver {
  readonly url: string
  readonly received: Received[]
  /** Changes the answer. */
  answer: (received: Received) => Response | Promise<Response>
  /** Ids without repetitions, in the order of their first arrival. */
  ids(): readonly string[]
  stop(): Promise<void>
}

export function startReceiver(answer: TestReceiver['answer'] = () => new Response('thanks')): TestReceiver {
  const received: Received[] = []
  const attempts = new Map<string, number>()
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 60,
    async fetch(request) {
      const body = await request.text()
      const header = (name: string) => request.headers.get(`webhook-${name}`) ?? ''
      const id = header('id')
      attempts.set(id, (attempts.get(id) ?? 0) + 1)
      const one: Received = {
        id,
        at: performance.now(),
        timestamp: header('timestamp'),
        signature: header('signature'),
        headers: request.headers,
        body,
        event: JSON.parse(body),
        attempt: attempts.get(id) ?? 1,
      }
      received.push(one)
      return receiver.answer(one)
    },
  })
  const receiver: TestReceiver = {
    url: `http://127.0.0.1:${server.port}/hook`,
    received,
    answer,
    ids: () => [...new Set(received.map(({ id }) => id))],
    stop: () => server.stop(true),
  }
  return receiver
}

/** Checks the signature as receivers do. @throws if a library refuses it */
export function verify(secret: string, { headers, body }: Received): void {
  const plain = Object.fromEntries(headers)
  new StandardWebhook(secret).verify(body, plain)
  new SvixWebhook(secret).verify(body, plain)
}

export async function createWebhook(client: Client, body: object): Promise<Answer['body']> {
  const answer = await client.post(WEBHOOKS, { types: ['*'], ...body })
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body))
  return answer.body
}

export interface SendingServer extends TestServer {
  /** Starts one more worker. @returns a function that stops it */
  work(options?: WebhookOptions, runtime?: Partial<RuntimeOptions>): Promise<() => Promise<void>>
}

/** Retries after fractions of seconds. */
export const FAST: WebhookOptions = { retrySeconds: [0.05, 0.1, 0.1, 0.1], timeoutMs: 1_000 }

/** A server whose webhooks are sent with these options. `more`: other actors run too. */
export async function startSendingServer(
  serverOptions: TestServerOptions = {},
  webhooks: WebhookOptions = FAST,
  isWorking = true,
): Promise<SendingServer> {
  const server = await startTestServer({ ...serverOptions, env: { ...LOCAL, ...serverOptions.env } })
  const stops: (() => Promise<void>)[] = []
  const work = async (own: WebhookOptions = webhooks, options: Partial<RuntimeOptions> = {}) => {
    const actors = [
      ...server.features.actors.filter(({ kind }) => !kind.startsWith('webhook')),
      ...webhookActors(server.deps, own),
    ]
    const runtime = createRuntime(server.deps, actors, { ...QUICK, ...options })
    await runtime.start()
    const forwarding = await forwardTriggerWakeUps(server.deps)
    const stop = async () => {
      await forwarding.close()
      await runtime.stop(5_000)
    }
    stops.push(stop)
    return async () => {
      stops.splice(stops.indexOf(stop), 1)
      await stop()
    }
  }
  if (isWorking) await work()
  return {
    ...server,
    work,
    async stop() {
      for (const stop of stops.toReversed()) await stop()
      await server.stop()
    },
  }
}
