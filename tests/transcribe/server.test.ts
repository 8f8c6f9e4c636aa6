/** The transcriber behind an OpenAI-compatible server: real HTTP, real ffmpeg. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createProbe } from '../../src/calls/media/probe.ts'
import { findPrograms } from '../../src/calls/media/programs.ts'
import { createReadOutput } from '../../src/calls/transcribe/read-output.ts'
import { createServerTranscriber, type ServerOptions } from '../../src/calls/transcribe/server.ts'
import { type SourceMedia, TranscriberError } from '../../src/calls/transcribe/transcriber.ts'
import { createRequestWork } from '../../src/platform/concurrency/request-work.ts'
import { eventually } from '../support/eventually.ts'
import { makeMedia, type SpeechAnswer, secondsOf, startSpeechServer } from '../support/speech.ts'

setDefaultTimeout(300_000)

let folder: string
let count = 0
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'earshot-speech-'))
  // Tones of different pitch with a pause every ten seconds.
  const tones = "sine=f=300:d=95,volume='if(lt(mod(t,10),9),1,0)':eval=frame"
  makeMedia('-f', 'lavfi', '-i', tones, join(folder, 'long.wav'))
  makeMedia('-t', '3', '-i', join(folder, 'long.wav'), join(folder, 'short.wav'))
  makeMedia(
    '-f',
    'lavfi',
    '-i',
    'testsrc=d=3:s=64x64',
    '-i',
    join(folder, 'short.wav'),
    join(folder, 'film.mp4'),
  )
  makeMedia('-f', 'lavfi', '-i', 'testsrc=d=3:s=64x64', '-pix_fmt', 'yuv420p', join(folder, 'silent.mp4'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const { signal } = new AbortController()

function soundOf(name: string, facts: Partial<SourceMedia> = {}): SourceMedia {
  const scratch = join(folder, `scratch${count++}`)
  mkdirSync(scratch)
  return {
    path: join(folder, name),
    contentType: 'audio/wav',
    isAudio: true,
    durationSeconds: 3,
    folder: scratch,
    ...facts,
  }
}

const programs = findPrograms({ ffprobePath: null, ffmpegPath: null })
const tools = { probe: createProbe(programs), ffmpeg: programs.ffmpeg }
const work = createRequestWork()
afterAll(() => work.close())
const readOutput = createReadOutput(work)
const optionsOf = (url: string): ServerOptions => ({
  kind: 'server',
  url,
  model: 'whisper-1',
  apiKey: 'key-1',
  retry: { timeoutMs: 5_000, pausesMs: [1, 1] },
})
const transcriber = (url: string, more: Partial<ServerOptions> = {}) =>
  createServerTranscriber({ ...optionsOf(url), ...more }, tools, readOutput)

const verbose = (...segments: object[]) => Response.json({ text: 'SECRET', segments })

async function failureOf(work: Promise<unknown>): Promise<TranscriberError> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(TranscriberError)
  expect(String(error)).not.toContain('SECRET')
  expect(String(error)).not.toContain('key-1')
  return error as TranscriberError
}

describe('a request', () => {
  test.each(['', '/', '/v1', '/v1/'])(
    'is POST /v1/audio/transcriptions with key, model, format and file, at a base that ends in “%s”',
    async (suffix) => {
      using server = startSpeechServer(() => verbose({ start: 0, end: 2, text: ' Hello.' }))
      const heard = await transcriber(server.url + suffix).transcribe(soundOf('short.wav'), signal)
      expect(heard).toEqual({
        segments: [{ startSec: 0, endSec: 2, speaker: null, text: ' Hello.' }],
        durationSeconds: 3,
      })
      const [request] = server.requests
      expect(request).toMatchObject({
        method: 'POST',
        path: '/v1/audio/transcriptions',
        authorization: 'Bearer key-1',
      })
      expect(request!.form.get('model')).toBe('whisper-1')
      expect(request!.form.get('response_format')).toBe('verbose_json')
      expect(request!.form.get('timestamp_granularities[]')).toBe('segment')
      // Unchanged: conversion would lose quality for no reason.
      expect([request!.file.name, request!.file.size]).toEqual([
        'audio.wav',
        statSync(join(folder, 'short.wav')).size,
      ])
    },
  )

  test('has no key if none is set', async () => {
    using server = startSpeechServer(() => verbose())
    await transcriber(server.url, { apiKey: null }).transcribe(soundOf('short.wav'), signal)
    expect(server.requests[0]!.authorization).toBeNull()
  })

  test('for a film has only the audio, mono at 16 kHz', async () => {
    using server = startSpeechServer(() => Response.json({ text: 'Hello.' }))
    const film = soundOf('film.mp4', { contentType: 'video/mp4', isAudio: false })
    const { segments } = await transcriber(server.url).transcribe(film, signal)
    expect(segments).toEqual([{ startSec: 0, endSec: expect.closeTo(3, 0), speaker: null, text: 'Hello.' }])
    const { file } = server.requests[0]!
    expect(file.name).toBe('audio.m4a')
    await Bun.write(join(folder, 'got.m4a'), file)
    expect(secondsOf(join(folder, 'got.m4a'))).toBeWithin(2.8, 3.3)
  })

  test('is not sent for unreadable media or without ffmpeg: terminal', async () => {
    using server = startSpeechServer(() => verbose())
    await Bun.write(join(folder, 'broken.mp4'), 'nothing of the kind')
    const broken = soundOf('broken.mp4', { contentType: 'video/mp4', isAudio: false })
    expect((await failureOf(transcriber(server.url).transcribe(broken, signal))).attempts).toBe(1)
    const bare = createServerTranscriber(optionsOf(server.url), { ...tools, ffmpeg: null }, readOutput)
    const film = soundOf('film.mp4', { contentType: 'video/mp4', isAudio: false })
    const error = await failureOf(bare.transcribe(film, signal))
    expect([error.attempts, error.message]).toEqual([1, expect.stringContaining('FFMPEG_PATH')])
    // Media that is sent unchanged needs none.
    await bare.transcribe(soundOf('short.wav'), signal)
    expect(server.requests).toHaveLength(1)
  })

  test('is not sent for media without audio', async () => {
    using server = startSpeechServer(() => verbose())
    const film = soundOf('silent.mp4', { contentType: 'video/mp4', isAudio: false })
    expect(await transcriber(server.url).transcribe(film, signal)).toMatchObject({ segments: [] })
    expect(server.requests).toHaveLength(0)
  })
})

describe('long audio', () => {
  const long = (facts: Partial<SourceMedia> = {}) => soundOf('long.wav', { durationSeconds: 95, ...facts })

  test('is sent in pieces cut at pauses, and the times of each are shifted to its position', async () => {
    using server = startSpeechServer(({ number }) =>
      verbose({ start: 0, end: 1, text: `begin ${number}` }, { start: 1, end: 500, text: `rest ${number}` }),
    )
    const { segments, durationSeconds } = await transcriber(server.url, { pieceSeconds: 40 }).transcribe(
      long(),
      signal,
    )
    expect(durationSeconds).toBeCloseTo(95, 1)
    const starts = segments.map(({ startSec }) => startSec ?? -1)
    const begins = starts.filter((_, index) => index % 2 === 0)
    expect(begins).toHaveLength(3)
    expect(begins[0]).toBe(0)
    for (const begin of begins.slice(1)) expect(begin % 10).toBeWithin(9, 10)
    // No piece depends on later pieces.
    expect(segments.map(({ endSec }) => endSec)).toEqual([
      1,
      begins[1]!,
      begins[1]! + 1,
      begins[2]!,
      begins[2]! + 1,
      durationSeconds,
    ])
    expect(segments.map(({ text }) => text)).toEqual(
      [1, 2, 3].flatMap((number) => [`begin ${number}`, `rest ${number}`]),
    )
  })

  test('of unknown length is measured first', async () => {
    using server = startSpeechServer(() => Response.json({ text: 'x' }))
    const heard = await transcriber(server.url).transcribe(long({ durationSeconds: null }), signal)
    expect(heard.durationSeconds).toBeCloseTo(95, 1)
    expect(server.requests[0]!.file.size).toBeLessThan(2_000_000)
  })

  test('for a model that labels speakers: later requests carry reference clips of known speakers', async () => {
    using server = startSpeechServer(() =>
      Response.json({
        segments: [
          { start: 0, end: 5, text: 'one', speaker: 'A' },
          { start: 5, end: 6, text: 'two', speaker: 'B' },
        ],
      }),
    )
    const options = { model: 'gpt-4o-transcribe-diarize', pieceSeconds: 50 }
    const { segments } = await transcriber(server.url, options).transcribe(long(), signal)
    expect(segments.map(({ speaker }) => speaker)).toEqual(['A', 'B', 'A', 'B'])
    const [first, second] = server.requests
    expect(first!.form.get('response_format')).toBe('diarized_json')
    expect(first!.form.get('chunking_strategy')).toBe('auto')
    expect(first!.form.getAll('known_speaker_names[]')).toEqual([])
    expect(second!.form.getAll('known_speaker_names[]')).toEqual(['A'])
    const [sample] = second!.form.getAll('known_speaker_references[]')
    const [, base64 = ''] = /^data:audio\/wav;base64,(.*)$/.exec(String(sample)) ?? []
    await Bun.write(join(folder, 'sample.wav'), Buffer.from(base64, 'base64'))
    expect(secondsOf(join(folder, 'sample.wav'))).toBe(5)
  })
})

describe('a server that fails', () => {
  const ask = async (answer: SpeechAnswer, more: object = {}) => {
    using server = startSpeechServer(answer)
    const error = await failureOf(transcriber(server.url, more).transcribe(soundOf('short.wav'), signal))
    return { error, requests: server.requests.length }
  }

  test.each([400, 413, 415, 422])('with %d rejects the audio: terminal', async (status) => {
    const { error, requests } = await ask(() => new Response('SECRET', { status }))
    expect([error.attempts, requests]).toEqual([1, 1])
    expect(error.message).toContain(String(status))
  })

  test.each([401, 403, 404])('with %d needs an operator: retried for hours, not at once', async (status) => {
    const { error, requests } = await ask(() => new Response('SECRET', { status }))
    expect(error.attempts).toBeGreaterThan(100)
    expect(requests).toBe(1)
  })

  test.each([408, 429, 500, 503])('with %d is retried at once, then for hours', async (status) => {
    const { error, requests } = await ask(
      () => new Response('SECRET', { status, headers: { 'retry-after': '0' } }),
    )
    expect(error.attempts).toBeGreaterThan(100)
    expect(requests).toBe(3)
  })

  test('may name the moment of the next request as a date', async () => {
    const { requests } = await ask(
      () => new Response('', { status: 503, headers: { 'retry-after': 'Thu, 01 Jan 2026 00:00:00 GMT' } }),
      { retry: { timeoutMs: 5_000, pausesMs: [60_000] } },
    )
    expect(requests).toBe(2)
  })

  test('once gets only the failed piece again', async () => {
    using server = startSpeechServer(({ number }) =>
      number === 2 ? new Response('SECRET', { status: 500 }) : Response.json({ text: `${number}` }),
    )
    const { segments } = await transcriber(server.url, { pieceSeconds: 50 }).transcribe(
      soundOf('long.wav', { durationSeconds: 95 }),
      signal,
    )
    expect(segments.map(({ text }) => text)).toEqual(['1', '3'])
  })

  test('to respond in time, or disconnects, is retried', async () => {
    const retry = { timeoutMs: 100, pausesMs: [1] }
    const hanging = await ask(() => new Promise<Response>(() => {}), { retry })
    expect([hanging.error.attempts > 100, hanging.requests]).toEqual([true, 2])
  })

  test.each([
    ['a page', () => Response.json({ error: 'SECRET' })],
    ['half of JSON', () => new Response('{"text": "SECRET')],
  ])('to make sense (%s) is asked again a few times', async (_, answer) => {
    expect((await ask(answer)).error.attempts).toBeWithin(2, 10)
  })

  test('by redirecting is not followed', async () => {
    using other = startSpeechServer(() => verbose())
    await ask(() => Response.redirect(`${other.url}/v1/audio/transcriptions`, 307))
    expect(other.requests).toHaveLength(0)
  })

  test('or hangs is abandoned when the signal is aborted, even between two attempts', async () => {
    for (const answer of [
      () => new Promise<Response>(() => {}),
      () => new Response('', { status: 503, headers: { 'retry-after': '60' } }),
    ]) {
      using server = startSpeechServer(answer)
      const controller = new AbortController()
      const work = transcriber(server.url).transcribe(soundOf('short.wav'), controller.signal)
      await eventually(() => server.requests.length > 0)
      controller.abort(new Error('fenced'))
      await expect(work).rejects.toThrow('fenced')
    }
  })
})
