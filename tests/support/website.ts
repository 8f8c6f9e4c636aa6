/**
 * Helpers for tests of the website API: a submission for every form, clients with addresses of their own, header
 * values.
 */
import { expect } from 'bun:test'
import { type BareItem, parseItem, parseList } from 'structured-headers'
import type { Answer } from './server.ts'

export interface FormFacts {
  readonly path: string
  readonly operationId: string
  readonly required: readonly string[]
  readonly optional: readonly string[]
}

/** Specification, "Website form payloads" and "Endpoints", A. */
export const FORMS: readonly FormFacts[] = [
  {
    path: '/api/contact',
    operationId: 'contact',
    required: ['name', 'email', 'inquiryType', 'message'],
    optional: ['company'],
  },
  {
    path: '/api/builder-waitlist',
    operationId: 'builderWaitlist',
    required: ['email', 'name'],
    optional: ['company', 'useCase'],
  },
  {
    path: '/api/development-waitlist',
    operationId: 'developmentWaitlist',
    required: ['email', 'name'],
    optional: ['company', 'useCase'],
  },
  {
    path: '/api/embed-inquiry',
    operationId: 'embedInquiry',
    required: ['name', 'email'],
    optional: ['company', 'dataTypes', 'useCase'],
  },
  { path: '/api/mobile-reminder', operationId: 'mobileReminder', required: ['email'], optional: [] },
  {
    path: '/api/manifesto-download',
    operationId: 'manifestoDownload',
    required: ['email'],
    optional: ['source', 'timestamp'],
  },
  {
    path: '/api/csdemo',
    operationId: 'csdemo',
    required: ['email'],
    optional: ['process', 'goal', 'source'],
  },
]

/** A submission with the named members of a form. The e-mail address is new. */
export function submission(members: readonly string[]): Record<string, string> {
  const email = `${crypto.randomUUID()}@example.com`
  return Object.fromEntries(members.map((name) => [name, name === 'email' ? email : `their ${name}`]))
}

/** Makes the loopback interface a trusted proxy, so that every request can have its own client address. */
export const BEHIND_PROXY = { TRUSTED_PROXIES: '127.0.0.0/8' }

/** A header with a new client address on each call. */
export function newClient(): Record<string, string> {
  const [a = 0, b = 0, c = 0] = crypto.getRandomValues(new Uint8Array(3))
  return { 'x-forwarded-for': `10.${a}.${b}.${c}` }
}

export interface Standing {
  readonly policy: string
  readonly limit: number
  readonly windowSeconds: number
  readonly remaining: number
  readonly waitSeconds: number
}

/** The rate-limit standing in a response. An independent parser reads the structured fields (RFC 9651). */
export function standingOf(headers: Headers): Standing {
  const [policy, policyParameters] = onlyItem(headers.get('ratelimit-policy'))
  const [name, parameters] = onlyItem(headers.get('ratelimit'))
  expect(name).toBe(policy)
  const standing = {
    policy: String(policy),
    limit: Number(policyParameters.get('q')),
    windowSeconds: Number(policyParameters.get('w')),
    remaining: Number(parameters.get('r')),
    waitSeconds: Number(parameters.get('t')),
  }
  const older = ['limit', 'remaining', 'reset'].map(
    (one) => parseItem(headers.get(`x-ratelimit-${one}`) ?? '')[0],
  )
  expect(older.slice(0, 2)).toEqual([standing.limit, standing.remaining])
  const reset = Number(older[2]) - Date.now() / 1000
  // Whole seconds, rounded up, plus the time that the answer took.
  expect(reset).toBeGreaterThan(-5)
  expect(reset).toBeLessThanOrEqual(standing.windowSeconds + 1)
  expect(standing.waitSeconds).toBeWithin(1, standing.windowSeconds + 1)
  return standing
}

function onlyItem(value: string | null): readonly [BareItem, Map<string, BareItem>] {
  const list = parseList(value ?? '')
  expect(list).toHaveLength(1)
  const [item, parameters] = list[0] as [BareItem, Map<string, BareItem>]
  return [item, parameters]
}

/** RFC 9457 with the members of this service, and the headers of every response. */
export function expectProblem(answer: Answer, status: number, code: string, path: string): void {
  const { headers, body } = answer
  expect([answer.status, body.code]).toEqual([status, code])
  expect(headers.get('content-type')).toBe('application/problem+json')
  expect(headers.get('api-version')).toBe('1')
  expect(body).toMatchObject({ status, instance: path, requestId: headers.get('x-request-id') })
  for (const member of ['type', 'title', 'detail', 'error']) expect(body[member]).toBeString()
  expect(body.error).toBe(body.detail)
}
