/** Why a call of the console is not there yet, in words. */
import { expect, test } from 'bun:test'
import type { AssetErrorCode } from '../../src/calls/assets/rules.ts'
import {
  MEDIA_FAILURES,
  mediaWords,
  transcriptWords,
  waitWords,
} from '../../src/console/app/call/call-words.ts'
import { createdAtOf, labelOf } from '../../src/console/app/words.ts'
import { ASSET_STATUSES } from '../../src/kernel/asset-status.ts'
import { newId } from '../../src/platform/ids.ts'

/** The compiler compares the codes in both directions. */
const SENTENCES: Record<AssetErrorCode, string> = MEDIA_FAILURES
const CODES: readonly AssetErrorCode[] = Object.keys(MEDIA_FAILURES) as (keyof typeof MEDIA_FAILURES)[]

const assetOf = (status: (typeof ASSET_STATUSES)[number], errorCode: string | null = null) => ({
  status,
  errorCode,
})

test('each failure of media is told with its cause', () => {
  for (const code of CODES)
    expect(mediaWords({ asset: assetOf('failed', code) })).toBe(`The media failed. ${SENTENCES[code]}`)
  expect(mediaWords({ asset: assetOf('failed', 'new_code') })).toContain('new_code')
})

test('each status of media has a sentence of its own', () => {
  const told = ASSET_STATUSES.map((status) => mediaWords({ asset: assetOf(status) }))
  expect(new Set(told).size).toBe(ASSET_STATUSES.length)
  expect(told.filter((text) => text.startsWith('The media is waiting'))).toEqual([])
  expect(mediaWords({ asset: null })).toBe('This call has no media.')
})

const wordsOf = (status: 'waiting' | 'failed', waitingFor?: 'media' | 'transcriber') =>
  transcriptWords({
    asset: assetOf(waitingFor === 'transcriber' ? 'completed' : 'processing'),
    transcript: { status, ...(waitingFor === undefined ? {} : { waitingFor }) },
  })

test('a transcript says what it waits for, and why there will be none', () => {
  expect(wordsOf('waiting', 'transcriber')).toMatchObject({ needsRecogniser: true })
  expect(wordsOf('waiting', 'media')).toEqual({
    text: 'The transcript waits for the media.',
    needsRecogniser: false,
  })
  expect(wordsOf('failed').text).toContain('failed')
  const failed = transcriptWords({
    asset: assetOf('failed'),
    transcript: { status: 'waiting', waitingFor: 'media' },
  })
  expect(failed.text).toBe('Without media there is no transcript.')
})

test.each([
  ['waiting', null, 'No media yet'],
  ['waiting', 'https://example.com', 'No speech recogniser'],
  ['failed', null, 'Failed'],
] as const)('the row of a call with the status %s and the URL %s says “%s”', (status, url, words) => {
  expect(labelOf(waitWords({ transcript_status: status, asset_url: url }))).toBe(words)
})

test('an id tells when its object was created', () => {
  const before = Date.now()
  const at = Date.parse(createdAtOf(newId()) ?? '')
  expect(at).toBeGreaterThanOrEqual(before)
  expect(at).toBeLessThanOrEqual(Date.now())
  expect(createdAtOf(crypto.randomUUID())).toBeNull()
})
