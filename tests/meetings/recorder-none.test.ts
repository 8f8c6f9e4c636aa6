/** Without a recorder nothing joins. */
import { describe, expect, test } from 'bun:test'
import { RecorderError } from '../../src/calls/meetings/recorder.ts'
import { createNone } from '../../src/calls/meetings/recorders/none.ts'

const signal = new AbortController().signal

describe('no recorder', () => {
  test('refuses every request for good, and every webhook', async () => {
    const none = createNone()
    const failure = await none.status('1', signal).then(
      () => null,
      (error: unknown) => error,
    )
    expect(failure).toBeInstanceOf(RecorderError)
    expect(failure).toMatchObject({ kind: 'terminal', code: 'recorder_failed' })
    expect(none.verifyNudge(new Headers(), new Uint8Array())).toBeNull()
  })
})
