/** The whole way with each recorder: a join over HTTP, the real driver, signed webhooks, media, transcript, and deletion at the recorder. */
import { afterEach, describe, expect, test } from 'bun:test'
import { createRuntime } from '../../src/actors/runtime.ts'
import { QUICK } from '../support/actors.ts'
import { eventually } from '../support/eventually.ts'
import { sha256 } from '../support/media.ts'
import { hasten, joinMeeting, RECORDER_ENV, startChecks } from '../support/meetings.ts'
import { FAKES, type Name } from '../support/recorders/drivers.ts'
import { type FakeRecorder, RECORDING } from '../support/recorders/fake.ts'
import { RECORDINGS } from '../support/recordings.ts'
import { startTestServer } from '../support/server.ts'

const running: AsyncDisposableStack[] = []
afterEach(async () => {
  for (const each of running.splice(0).toReversed()) await each.disposeAsync()
})

async function start(name: Name, fake: FakeRecorder & Disposable) {
  const stack = new AsyncDisposableStack()
  running.push(stack)
  stack.use(fake)
  const server = await startTestServer({
    env: {
      ...RECORDER_ENV,
      RECORDER: name,
      RECORDER_URL: fake.settings.url,
      RECORDER_API_KEY: fake.settings.apiKey,
      RECORDER_WEBHOOK_SECRET: fake.settings.webhookSecret ?? '',
      RECORDER_TIMEOUT: '15',
      // Nothing is polled while the test runs: webhooks cause the checks.
      RECORDER_POLL: '300',
      OUTBOUND_ALLOW: '127.0.0.0/8',
      PUBLIC_BASE_URL: 'https://earshot.example',
    },
  })
  stack.defer(() => server.stop())
  const runtime = createRuntime(server.deps, server.features.actors, QUICK)
  stack.defer(() => runtime.stop(5_000))
  await runtime.start()
  const checks = startChecks(server)
  stack.defer(() => checks.stop())
  const tenant = await server.createTenant()
  return { server, client: server.as({ userToken: tenant.userToken }) }
}

for (const name of Object.keys(FAKES) as Name[])
  describe(`a meeting with ${name}`, () => {
    test('from the join to the deletion of the copy, driven by webhooks', async () => {
      const fake = FAKES[name]()
      const { server, client } = await start(name, fake)
      const { id, recordingId } = await joinMeeting(client)
      const recording = async () => (await client.get(`${RECORDINGS}/${recordingId}`)).body
      const statusIs = (status: string) =>
        eventually(async () => {
          const found = await recording()
          return found.meeting.status === status && found
        })
      await hasten(server, id)
      const botId = await eventually(() => fake.botIds()[0] ?? false)
      await statusIs('joining')
      const deliver = async ({ headers, body } = fake.webhook(botId)) => {
        const answer = await fetch(`${server.baseUrl}/hooks/recorder/${name}`, {
          method: 'POST',
          headers,
          body,
        })
        return answer.status
      }

      fake.move(botId, 'waiting_room')
      expect(await deliver(fake.webhook(botId, { secret: fake.otherSecret }))).toBe(401)
      expect((await recording()).meeting.status).toBe('joining')
      // The join may not have stored its bot yet; then the webhook is for someone else.
      await eventually(async () => (await deliver()) === 204)
      await statusIs('waiting_room')
      fake.move(botId, 'recording')
      expect(await deliver()).toBe(204)
      expect((await statusIs('recording')).meeting.joinedAt).toBeString()
      fake.speak(botId, [
        { speaker: 'Ann Lee', start: 0, end: 1, text: 'The export failed' },
        { speaker: 'Bo', start: 1, end: 2, text: 'I will look' },
      ])
      fake.move(botId, 'ended')
      expect(await deliver()).toBe(204)
      await statusIs('ended')
      const found = await eventually(async () => {
        const now = await recording()
        return now.asset.status === 'completed' && now.transcript.status === 'completed' && now
      })
      expect(found.participants.map(({ firstName }: { firstName: string }) => firstName)).toEqual([
        'Ann Lee',
        'Bo',
      ])
      const { pathname, search } = new URL(found.asset.url)
      const stored = await fetch(`${server.baseUrl}${pathname}${search}`)
      expect(sha256(await stored.arrayBuffer())).toBe(sha256(RECORDING))
      await eventually(async () => {
        await hasten(server, id)
        return fake.isDeleted(botId)
      })
      expect(fake.botIds()).toEqual([botId])
    })

    test('that is left before the bot is admitted has no media, and no failure', async () => {
      const fake = FAKES[name]()
      const { server, client } = await start(name, fake)
      const { id, recordingId } = await joinMeeting(client)
      await hasten(server, id)
      const botId = await eventually(() => fake.botIds()[0] ?? false)
      fake.move(botId, 'waiting_room')
      await client.send('DELETE', `${RECORDINGS}/meeting-joins/${recordingId}`)
      await eventually(async () => {
        await hasten(server, id)
        return fake.isGone(botId)
      })
      if (name !== 'vexa') fake.move(botId, 'ended_empty')
      const found = await eventually(async () => {
        await hasten(server, id)
        const now = (await client.get(`${RECORDINGS}/${recordingId}`)).body
        return now.meeting.status === 'ended' && now
      })
      expect(found.asset).toMatchObject({ url: null, errorCode: null })
    })
  })
