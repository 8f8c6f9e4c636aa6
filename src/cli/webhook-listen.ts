/**
 * `earshot webhook listen`: a receiver for development. It creates a webhook over the REST API, verifies and prints what arrives, and
 * deletes the webhook when it ends.
 */
import { Webhook } from 'standardwebhooks'
import { ClientError } from '../client/failures.ts'
import { createSender, type Send } from '../client/requests.ts'
import { type Input, type Output, UsageError, wholeNumber } from './command.ts'
import { credentialOf, serviceUrl, untilSignal } from './remote.ts'

const WEBHOOKS = '/v3/rest/webhooks'
/** For the deletion of the webhook, after the signal. */
const FAREWELL_MS = 10_000

/** Prints one line per event, with `--json` its body. @throws UsageError */
export async function listenToWebhooks(input: Input): Promise<Output | null> {
  const [url, credential] = [serviceUrl(input), credentialOf(input)]
  if (!('apiKey' in credential)) throw new UsageError('webhooks need an API key: set EARSHOT_API_KEY')
  const host = input.flag('host') ?? '127.0.0.1'
  const port = wholeNumber('--port', input.flag('port') ?? '0', 0, 65_535)
  const types = input.flags('type')
  using stop = untilSignal()
  let verifier: Webhook | null = null
  const server = Bun.serve({
    hostname: host,
    port,
    fetch: async (request) => receive(input, verifier, request),
  })
  const say = (text: string) => process.stderr.write(`${text}\n`)
  const onRetry = (reason: string) => say(reason)
  try {
    const send = createSender(url, credential, { signal: stop.signal, onRetry })
    const target = `http://${host.includes(':') ? `[${host}]` : host}:${server.port}/`
    const created = await subscribe(send, { url: target, types: types.length === 0 ? ['*'] : types }, host)
    verifier = new Webhook(created.secret)
    say(`listening at ${target} for events of ${url}; Ctrl-C ends it`)
    try {
      await ended(stop.signal)
    } finally {
      const farewell = createSender(url, credential, { signal: AbortSignal.timeout(FAREWELL_MS), onRetry })
      await farewell('DELETE', `${WEBHOOKS}/${created.id}`)
    }
    return null
  } finally {
    await server.stop(true)
  }
}

/** @throws UsageError that says which setting is missing */
async function subscribe(
  send: Send,
  body: { readonly url: string; readonly types: readonly string[] },
  host: string,
): Promise<{ readonly id: string; readonly secret: string }> {
  try {
    return await send('POST', WEBHOOKS, { ...body, description: 'earshot webhook listen' })
  } catch (error) {
    if (!(error instanceof ClientError) || error.code !== 'url_not_allowed') throw error
    const block = host.includes(':') ? `${host}/128` : host === '127.0.0.1' ? '127.0.0.0/8' : `${host}/32`
    throw new UsageError(
      `the service may not reach ${host}: start it with OUTBOUND_ALLOW=${block}, or name another address with --host`,
    )
  }
}

async function receive(input: Input, verifier: Webhook | null, request: Request): Promise<Response> {
  const body = await request.text()
  // The service waits with its next attempt until the secret is known here.
  if (verifier === null) return new Response(null, { status: 503 })
  try {
    verifier.verify(body, Object.fromEntries(request.headers))
  } catch {
    process.stderr.write('refused a request with a wrong signature\n')
    return new Response(null, { status: 401 })
  }
  const { type, timestamp, data } = JSON.parse(body)
  const id = request.headers.get('webhook-id')
  process.stdout.write(input.json ? `${body}\n` : `${timestamp} ${type} ${id}\n  ${JSON.stringify(data)}\n`)
  return new Response(null, { status: 204 })
}

function ended(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
