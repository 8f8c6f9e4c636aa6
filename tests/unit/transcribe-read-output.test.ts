/** What a program wrote, read as a transcript: however long it is, no more than a transcript can hold comes back. */
import { afterAll, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { parseOutput } from '../../src/calls/transcribe/output.rules.ts'
import { createReadOutput, readOutputWork } from '../../src/calls/transcribe/read-output.ts'
import type { Segment } from '../../src/calls/transcribe/segment.ts'
import { TranscriberError } from '../../src/calls/transcribe/transcriber.ts'
import { toUtterances } from '../../src/calls/transcribe/utterances.rules.ts'
import { MAX_TRANSCRIPT_CHARACTERS } from '../../src/calls/transcripts/model.ts'
import { createRequestWork } from '../../src/platform/concurrency/request-work.ts'
import type { Load, RequestWork, Work } from '../../src/platform/concurrency/work.ts'
import { AppError } from '../../src/platform/errors.ts'

const threads = createRequestWork()
afterAll(() => threads.close())

const MB = 1024 * 1024
const here = (output: string) => readOutputWork.run(output, () => {})
const charactersOf = (segments: readonly Segment[] | null) =>
  (segments ?? []).reduce((sum, { text }) => sum + text.length, 0)
const segmentsOf = (count: number, text: string) =>
  JSON.stringify({ segments: Array.from({ length: count }, (_, n) => ({ start: n, end: n + 1, text })) })

describe('the output of a program', () => {
  test.each([
    ['short JSON', segmentsOf(3, 'Hello.')],
    ['long JSON', segmentsOf(9_000, 'So I went to the page with the invoices.')],
    ['no transcript', '{"error": "no model"}'],
    ['a text', 'Hello. '.repeat(30_000)],
  ])('is read as it stands: %s', async (_, output) => {
    expect(await createReadOutput(threads)(output)).toEqual(parseOutput(output))
  })

  test('is read in a thread if long', async () => {
    const loads: Load[] = []
    const noting: RequestWork = {
      run<I, O>(work: Work<I, O>, input: I, load: Load) {
        loads.push(load)
        return threads.run(work, input, load)
      },
      close() {},
    }
    await createReadOutput(noting)('a'.repeat(MB))
    expect(loads).toEqual([{ caller: 'transcripts', bytes: MB, units: 30 * MB }])
  })

  test.each([
    ['segments', segmentsOf(300_000, 'Yes.')],
    ['blank segments', segmentsOf(300_000, ' \n')],
    ['texts', segmentsOf(10, 'a '.repeat(MB))],
    ['one text', 'a '.repeat(16 * MB)],
    ['cues', `WEBVTT\n\n${'00:01.000 --> 00:02.000\nYes.\n\n'.repeat(300_000)}`],
  ])('is bounded: %s', async (_, output) => {
    const read = await createReadOutput(threads)(output)
    expect(read?.length).toBeLessThanOrEqual(100_000)
    expect(charactersOf(read)).toBeLessThanOrEqual(2 * MAX_TRANSCRIPT_CHARACTERS)
  })

  test.each([30_000, 300_000])('keeps all words of %d short segments', (count) => {
    const output = segmentsOf(count, 'Yes.')
    const { utterances, leftOut } = toUtterances(here(output) ?? [], null)
    expect(leftOut).toBe(0)
    expect(utterances.map(({ text }) => text).join(' ')).toBe('Yes. '.repeat(count).trim())
  })

  test('is counted as dropped if it exceeds the limits of a transcript', () => {
    const output = segmentsOf(30_000, 'a '.repeat(100))
    expect(toUtterances(here(output) ?? [], null).leftOut).toBeGreaterThan(0)
  })

  test('yields the same transcript without its blank segments', () => {
    const text = fc.constantFrom('', ' ', '\u00A0', 'a', 'b ')
    const segment = fc.record({ text, start: fc.option(fc.nat(9)), end: fc.option(fc.nat(9)) })
    fc.assert(
      fc.property(fc.array(segment), (segments) => {
        const output = JSON.stringify({ segments })
        expect(toUtterances(here(output) ?? [], 9)).toEqual(toUtterances(parseOutput(output) ?? [], 9))
      }),
    )
  })

  test('that takes too long to read fails the attempt, with an error that contains no speech', async () => {
    const late: RequestWork = { run: () => Promise.reject(new AppError('unavailable', 'late')), close() {} }
    const outcome = await createReadOutput(late)('SECRET').catch((error: unknown) => error)
    expect(outcome).toBeInstanceOf(TranscriberError)
    expect(String(outcome)).toBe('TranscriberError: reading what was transcribed took too long')
  })
})
