/** The pauses that help desks ask for. */
import { expect, test } from 'bun:test'
import { createSourceHttp, SourcePause } from '../../src/hear/importers/providers/http.ts'

const NOW = new Date('2026-11-22T10:00:00Z')
const reset = (seconds: number) => String(NOW.getTime() / 1000 + seconds)

test.each([
  [{ 'retry-after': '7200' }, 7_200],
  [{ 'retry-after': '999999999' }, 86_400],
  [{ 'retry-after': 'Sun, 22 Nov 2026 12:00:00 GMT' }, 7_200],
  [{ 'retry-after': '17', 'x-ratelimit-reset': reset(60) }, 17],
  [{ 'x-ratelimit-reset': reset(7_200) }, 7_200],
  [{ 'x-ratelimit-reset': reset(-60) }, 0],
  [{ 'x-ratelimit-reset': '99999999999' }, 86_400],
  [{ 'x-ratelimit-reset': 'soon' }, null],
  [{}, null],
])('%j: %p s', async (headers: Record<string, string>, seconds) => {
  const http = createSourceHttp({
    send: async (url) => ({
      url: new URL(url),
      status: 429,
      headers: new Headers(headers),
      body: new Uint8Array(),
      isCut: false,
    }),
    connected: { url: 'https://desk.example', place: 'desk.example', headers: {} },
    signal: new AbortController().signal,
    now: () => NOW,
  })
  const error = await http.get('/tickets', {}).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(SourcePause)
  expect((error as SourcePause).seconds).toBe(seconds)
})
