/** What every driver does, against the fake of its recorder. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { type Recorder, RecorderError } from '../../src/calls/meetings/recorder.ts'
import { driverOf, errorOf, FAKES, joinRequest, type Name, signal } from '../support/recorders/drivers.ts'
import { type FakeRecorder, RECORDING, type Stage } from '../support/recorders/fake.ts'
import { answerWith, endless, loseAnswer, silence } from '../support/recorders/server.ts'

const STAGES: readonly (Stage | 'joining')[] = [
  'joining',
  'waiting_room',
  'recording',
  'processing',
  'ended',
  'ended_empty',
  'join_timeout',
  'waiting_room_timeout',
  'meeting_not_found',
  'recorder_failed',
]

/** What a driver reports at a stage of its bot. Vexa has no reason for two of the failures. */
function expectedAt(stage: Stage | 'joining', name: Name): object {
  if (stage === 'ended') return { state: 'ended', hasMedia: true }
  if (stage === 'ended_empty') return { state: 'ended', hasMedia: false }
  if (stage === 'join_timeout' || stage === 'meeting_not_found')
    return { state: 'failed', code: name === 'vexa' ? 'recorder_failed' : stage }
  if (stage === 'waiting_room_timeout' || stage === 'recorder_failed') return { state: 'failed', code: stage }
  return { state: stage }
}

for (const name of Object.keys(FAKES) as Name[])
  describe(`the driver of ${name}`, () => {
    let fake: FakeRecorder & Disposable
    let driver: Recorder
    beforeEach(() => {
      fake = FAKES[name]()
      driver = driverOf(name, fake)
    })
    afterEach(() => fake[Symbol.dispose]())

    const joined = async (request = joinRequest()) => (await driver.join(request, signal)).botId
    const inStage = async (stage: Stage | 'joining') => {
      const botId = await joined()
      if (stage !== 'joining') fake.move(botId, stage)
      return botId
    }

    describe('joins', () => {
      test('a meeting, with the link and the name of the request', async () => {
        const request = joinRequest({ botName: 'Notes of Ünal' })
        const botId = await joined(request)
        expect(fake.botIds()).toEqual([botId])
        expect(fake.nameOf(botId)).toBe('Notes of Ünal')
        const creation = fake.server.exchanges.find(({ method, path }) =>
          fake.creation.test(`${method} ${path}`),
        )
        expect(creation?.body).toMatchObject({ meeting_url: request.meetingUrl })
        expect(await driver.status(botId, signal)).toMatchObject({ state: 'joining' })
      })

      test('once, however often it is asked', async () => {
        const request = joinRequest()
        const first = await joined(request)
        expect(await joined(request)).toBe(first)
        fake.move(first, 'ended')
        expect(await joined(request)).toBe(first)
        expect(fake.botIds()).toEqual([first])
      })

      test('once if the answer is lost', async () => {
        const request = joinRequest()
        fake.server.disturb(fake.creation, loseAnswer)
        const error = await errorOf(driverOf(name, fake, { deadlineMs: 300 }).join(request, signal))
        expect(error).toMatchObject({ name: 'RecorderError', kind: 'retryable' })
        const botId = await joined(request)
        expect(fake.botIds()).toEqual([botId])
      })

      test('for nothing, if it is given up: the bot of a lost answer is found and leaves', async () => {
        const request = joinRequest()
        fake.server.disturb(fake.creation, loseAnswer)
        await errorOf(driverOf(name, fake, { deadlineMs: 300 }).join(request, signal))
        const found = await driver.find(request, signal)
        await driver.leave(found?.botId ?? '', signal)
        expect(fake.botIds().map((botId) => fake.isGone(botId))).toEqual([true])
      })

      test('two joins with two bots, and finds each by its join', async () => {
        const [one, two] = [
          joinRequest(),
          joinRequest({ meetingUrl: 'https://meet.google.com/abc-defg-hij', platform: 'google_meet' }),
        ]
        expect(await driver.find(one, signal)).toBeNull()
        const ids = [await joined(one), await joined(two)]
        expect(await driver.find(one, signal)).toEqual({ botId: ids[0] ?? '' })
        expect(await driver.find(two, signal)).toEqual({ botId: ids[1] ?? '' })
        expect(await driver.find(joinRequest(), signal)).toBeNull()
      })

      test('later, if the request says so; until then it can be cancelled', async () => {
        const request = joinRequest({ joinAt: new Date(Date.now() + 3_600_000) })
        const botId = await joined(request)
        expect(await driver.status(botId, signal)).toMatchObject({ state: 'scheduled' })
        expect(await driver.find(request, signal)).toEqual({ botId })
        await driver.leave(botId, signal)
        expect(fake.isGone(botId)).toBe(true)
        expect(['ended', 'failed']).toContain((await driver.status(botId, signal)).state)
      })

      test('at once, if the time has passed', async () => {
        const botId = await joined(joinRequest({ joinAt: new Date(Date.now() - 60_000) }))
        expect(await driver.status(botId, signal)).toMatchObject({ state: 'joining' })
      })

      test('no meeting whose link the recorder refuses', async () => {
        const request = joinRequest({ meetingUrl: 'https://meetings.example.com/j/1?pwd=hush' })
        const error = await errorOf(driver.join(request, signal))
        expect(error).toMatchObject({ kind: 'terminal', code: 'meeting_not_found' })
        expect(fake.botIds()).toEqual([])
      })

      test('not with a wrong key, which fails for good', async () => {
        const error = await errorOf(
          driverOf(name, fake, { apiKey: 'wrong-key-0b7' }).join(joinRequest(), signal),
        )
        expect(error).toMatchObject({ name: 'RecorderError', kind: 'terminal', code: 'recorder_failed' })
        expect(fake.botIds()).toEqual([])
      })
    })

    describe('reports', () => {
      for (const stage of STAGES)
        test(`the stage ${stage}`, async () => {
          const botId = await inStage(stage)
          expect(await driver.status(botId, signal)).toMatchObject(expectedAt(stage, name))
        })

      test('when the bot joined and left', async () => {
        const botId = await inStage('ended')
        const report = await driver.status(botId, signal)
        expect(report.joinedAt?.getTime()).toBeGreaterThan(0)
        expect(report.endedAt?.getTime()).toBeGreaterThan(report.joinedAt?.getTime() ?? Number.NaN)
      })

      test('a bot that the recorder does not know as failed', async () => {
        const unknown = name === 'vexa' ? '424242' : name === 'recall' ? randomUUID() : 'bot_0000000000000000'
        expect(await driver.status(unknown, signal)).toMatchObject({
          state: 'failed',
          code: 'recorder_failed',
        })
        await driver.leave(unknown, signal)
        await driver.deleteData(unknown, signal)
        expect(await driver.media(unknown, signal)).toBeNull()
        expect(await driver.transcript(unknown, signal)).toBeNull()
      })

      test('no bot as unknown because of a proxy that has no route', async () => {
        const botId = await joined()
        fake.server.disturb(fake.reading, answerWith('<h1>404</h1>', { status: 404 }))
        const error = await errorOf(driver.status(botId, signal))
        expect(error).toMatchObject({ kind: 'retryable' })
      })
    })

    describe('leaves', () => {
      for (const stage of STAGES)
        test(`at the stage ${stage}`, async () => {
          const botId = await inStage(stage)
          await driver.leave(botId, signal)
          await driver.leave(botId, signal)
          const isThere = stage === 'joining' || stage === 'waiting_room' || stage === 'recording'
          expect(fake.isGone(botId)).toBe(isThere)
        })
    })

    describe('fetches', () => {
      test('the recording from a URL that is made for the request', async () => {
        const botId = await inStage('recording')
        if (name !== 'vexa') expect(await driver.media(botId, signal)).toBeNull()
        fake.move(botId, 'ended')
        const first = await driver.media(botId, signal)
        const second = await driver.media(botId, signal)
        if (name !== 'vexa') expect(first?.url).not.toBe(second?.url ?? '')
        const answer = await fetch(second?.url ?? '', { headers: { ...second?.headers } })
        expect(answer.status).toBe(200)
        expect(new Uint8Array(await answer.arrayBuffer())).toEqual(RECORDING)
      })

      test('no recording of a bot that made none', async () => {
        expect(await driver.media(await inStage('ended_empty'), signal)).toBeNull()
      })

      test('the transcript with speakers and times, in order', async () => {
        const botId = await inStage('ended')
        fake.speak(botId, [
          { speaker: 'Ada Ünal', start: 1.5, end: 3, text: 'Good morning everyone' },
          { speaker: null, start: 9, end: 10.25, text: 'Somebody unknown' },
          { speaker: '王芳', start: 4, end: 6, text: '🎤 hello' },
          ...(fake.hasDrafts
            ? [{ speaker: 'Ada Ünal', start: 11, end: 12, text: 'Good morn', isDraft: true }]
            : []),
        ])
        expect(await driver.transcript(botId, signal)).toEqual([
          { speaker: 'Ada Ünal', startSec: 1.5, endSec: 3, text: 'Good morning everyone' },
          { speaker: '王芳', startSec: 4, endSec: 6, text: '🎤 hello' },
          { speaker: null, startSec: 9, endSec: 10.25, text: 'Somebody unknown' },
        ])
      })

      test('no transcript where nobody spoke', async () => {
        expect(await driver.transcript(await inStage('ended'), signal)).toBeNull()
      })
    })

    describe('deletes', () => {
      test('recording and transcript, once the bot is done', async () => {
        const botId = await inStage('recording')
        const early = await errorOf(driver.deleteData(botId, signal))
        expect(early).toMatchObject({ kind: 'retryable' })
        fake.move(botId, 'ended')
        await driver.deleteData(botId, signal)
        expect(fake.isDeleted(botId)).toBe(true)
        await driver.deleteData(botId, signal)
        expect(await driver.media(botId, signal)).toBeNull()
        expect(await driver.status(botId, signal)).toMatchObject({ state: 'ended', hasMedia: false })
      })
    })

    describe('believes a webhook', () => {
      test('that the recorder has signed, also twice', async () => {
        const request = joinRequest()
        const botId = await joined(request)
        const { headers, body } = fake.webhook(botId)
        const nudge = fake.namesJoin ? { botId, joinId: request.joinId } : { botId }
        expect(driver.verifyNudge(headers, body)).toEqual(nudge)
        expect(driver.verifyNudge(headers, body)).toEqual(nudge)
      })

      test('late and in any order, because it is only a reason to ask', async () => {
        const botId = await joined()
        const early = fake.webhook(botId)
        fake.move(botId, 'ended')
        const late = fake.webhook(botId)
        for (const { headers, body } of [late, early])
          expect(driver.verifyNudge(headers, body)).toMatchObject({ botId })
      })

      test('not with another secret, another body, a cut signature or none', async () => {
        const botId = await joined()
        const other = fake.webhook(botId, { secret: fake.otherSecret })
        expect(driver.verifyNudge(other.headers, other.body)).toBeNull()
        const { headers, body } = fake.webhook(botId)
        const changed = new TextEncoder().encode(
          new TextDecoder().decode(body).replace(botId, botId.replace(/.$/, '_')),
        )
        expect(driver.verifyNudge(headers, changed)).toBeNull()
        const signature = ['x-webhook-signature', 'webhook-signature'].find((one) => headers.has(one)) ?? ''
        const cut = new Headers(headers)
        cut.set(signature, (headers.get(signature) ?? '').slice(0, -4))
        expect(driver.verifyNudge(cut, body)).toBeNull()
        expect(driver.verifyNudge(new Headers(), body)).toBeNull()
      })

      test('not if it is no JSON, too large, nested without end, or about no bot', () => {
        const text = (value: string) => new TextEncoder().encode(value)
        const { headers } = { headers: new Headers({ 'x-webhook-signature': 'x', 'webhook-id': 'x' }) }
        for (const body of [
          text('no'),
          text(''),
          text('['.repeat(100_000)),
          text('{"bot_id":1}'),
          new Uint8Array([0xff, 0xfe]),
          new Uint8Array(1024 * 1024),
        ])
          expect(driver.verifyNudge(headers, body)).toBeNull()
      })

      test('not if its time is far away, where the signature has one', async () => {
        const botId = await joined()
        for (const at of [Date.now() - 600_000, Date.now() + 600_000]) {
          const { headers, body } = fake.webhook(botId, { at: new Date(at) })
          const found = driver.verifyNudge(headers, body)
          if (fake.signsTime) expect(found).toBeNull()
          else expect(found).toMatchObject({ botId })
        }
      })

      test('not without a secret to check it with', async () => {
        const { headers, body } = fake.webhook(await joined())
        const blind = driverOf(name, fake, { webhookSecret: null })
        expect(blind.verifyNudge(headers, body)).toBeNull()
      })
    })

    describe('survives', () => {
      const failures = {
        garbage: answerWith('<html>'),
        'an answer of another form': answerWith('{"id":7,"status":[],"state":{}}'),
        null: answerWith('null'),
        'an endless answer': endless,
        'a right answer with too much behind it': async (work: () => Promise<Response>) =>
          new Response(`${await (await work()).text()}${' '.repeat(5 * 1024 * 1024)}`),
        silence: silence,
        'status 500': answerWith('{}', { status: 500 }),
        'a redirect to a private address': answerWith(null, {
          status: 302,
          headers: { location: 'http://10.0.0.1/' },
        }),
        'a key that is refused': answerWith('{"detail":"no"}', { status: 401 }),
      }
      for (const [what, how] of Object.entries(failures))
        test(`${what}: the question is asked again later`, async () => {
          const botId = await inStage('recording')
          fake.server.disturb(fake.reading, how)
          const error = await errorOf(driverOf(name, fake, { deadlineMs: 500 }).status(botId, signal))
          expect(error).toMatchObject({ name: 'RecorderError', kind: 'retryable' })
          expect(await driver.status(botId, signal)).toMatchObject({ state: 'recording' })
        })

      for (const status of [429, 503, 507])
        test(`status ${status}, after the time that it names`, async () => {
          const botId = await joined()
          fake.server.disturb(fake.reading, answerWith('{}', { status, headers: { 'retry-after': '17' } }))
          const error = await errorOf(driver.status(botId, signal))
          expect(error).toMatchObject({ kind: 'retryable', retryAfterSeconds: 17 })
        })

      test('each of them while it joins, and joins once', async () => {
        const request = joinRequest()
        for (const how of [failures.garbage, endless, failures['status 500'], silence, loseAnswer]) {
          fake.server.disturb(fake.creation, how)
          await errorOf(driverOf(name, fake, { deadlineMs: 300 }).join(request, signal))
        }
        const botId = await joined(request)
        expect(fake.botIds()).toEqual([botId])
      })

      test('a private address that is not allowed, without a request', async () => {
        const error = await errorOf(driverOf(name, fake, { allow: [] }).join(joinRequest(), signal))
        expect(error).toMatchObject({ name: 'RecorderError' })
        expect((error as Error).message).toContain('OUTBOUND_ALLOW')
        expect(fake.server.exchanges).toEqual([])
      })

      test('without a word of keys, passwords or the text of the recorder in errors', async () => {
        const leak = `${fake.settings.apiKey} pass4word`
        for (const status of [400, 401, 403, 404, 409, 422, 500]) {
          fake.server.disturb(
            fake.creation,
            answerWith(JSON.stringify({ error: leak, detail: leak }), { status }),
          )
          const error = await errorOf(driver.join(joinRequest(), signal))
          const shown = `${Bun.inspect(error)} ${JSON.stringify(error)}`
          expect(error).toBeInstanceOf(RecorderError)
          for (const secret of [fake.settings.apiKey, 'pass4word', fake.settings.webhookSecret ?? ''])
            expect(shown).not.toContain(secret)
        }
      })
    })

    test('ends with the reason of its signal', async () => {
      const botId = await joined()
      const controller = new AbortController()
      fake.server.disturb(fake.reading, () => {
        controller.abort(new Error('enough'))
        return silence()
      })
      expect(await errorOf(driver.status(botId, controller.signal))).toEqual(new Error('enough'))
    })

    test('takes its address with or without the path of the API', async () => {
      const botId = await joined()
      const path = name === 'vexa' ? '/' : '/api/v1/'
      const other = driverOf(name, fake, { url: `${fake.settings.url}${path}` })
      expect(await other.status(botId, signal)).toMatchObject({ state: 'joining' })
    })
  })
