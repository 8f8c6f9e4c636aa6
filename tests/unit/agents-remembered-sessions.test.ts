/** When a process uses a remembered session. */
import { expect, test } from 'bun:test'
import {
  createRememberedSessions,
  type RememberedSession,
} from '../../src/hear/agents/ingest/remembered-sessions.ts'

const key = { organizationId: 'o', applicationId: 'a', externalSessionId: 'chat' }

function known(version: number, agentVersion = '1'): RememberedSession {
  const session = {
    id: 's',
    status: 'open',
    processingStatus: 'pending',
    agentVersion,
    source: null,
    context: null,
    environment: null,
    participants: [],
    watermark: -1,
    erased: false,
  } as const
  return { session, version, highest: version, creditsExhausted: false }
}

test('a session is remembered as it was stored last, separately for each application', () => {
  const sessions = createRememberedSessions()
  expect(sessions.get(key)).toBeNull()
  sessions.remember(key, known(1), null)
  sessions.remember(key, known(2), 1)
  expect(sessions.get(key)?.highest).toBe(2)
  expect(sessions.get({ ...key, applicationId: 'b' })).toBeNull()
})

test('an invalidated session is used again only after a request found it as this process left it', () => {
  const sessions = createRememberedSessions()
  sessions.remember(key, known(1), null)
  sessions.invalidate(key)
  expect(sessions.get(key)).toBeNull()
  sessions.remember(key, known(5), 4)
  expect(sessions.get(key)).toBeNull()
  sessions.remember(key, known(9), 8)
  expect(sessions.get(key)).toBeNull()
  sessions.remember(key, known(10), 9)
  expect(sessions.get(key)?.version).toBe(10)
})

test('a large session is not remembered, and its earlier state is forgotten', () => {
  const sessions = createRememberedSessions()
  sessions.remember(key, known(1), null)
  sessions.remember(key, known(2, 'x'.repeat(3_000)), 1)
  expect(sessions.get(key)).toBeNull()
})

test('with more sessions than the capacity, the most recently stored ones are remembered', () => {
  const sessions = createRememberedSessions()
  const nth = (n: number) => ({ ...key, externalSessionId: `chat ${n}` })
  for (let n = 0; n < 10_000; n++) sessions.remember(nth(n), known(1), null)
  sessions.remember(nth(0), known(2), 1)
  sessions.remember(nth(10_000), known(1), null)
  expect(sessions.get(nth(0))?.version).toBe(2)
  expect(sessions.get(nth(1))).toBeNull()
  expect(sessions.get(nth(10_000))?.version).toBe(1)
})
