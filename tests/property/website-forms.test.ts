/**
 * Whatever is sent to a form, the answer is 200 or 400 in the documented shape. The server never fails.
 *
 * A failing run prints its seed. `FUZZ_RUNS` is the number of bodies for each form.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { rounds } from '../support/rounds.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import { FORMS } from '../support/website.ts'

const RUNS = Number(process.env.FUZZ_RUNS ?? rounds(400, 1_000))
const PARALLEL = 10

let server: TestServer
let problem: { required: string[]; properties: { code: { enum: string[] } } }

beforeAll(async () => {
  server = await startTestServer()
  problem = (await server.as('nobody').get('/openapi.json')).body.components.schemas.Problem
})
afterAll(() => server.stop())

/** Any text, and text that has a meaning in a database, a mail or a template. */
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom(
    '\0',
    '\ud800',
    '\r\nBcc: a@b.co',
    '{{title}}',
    "'; drop table form_submission --",
    '<script>',
    ' ',
    '',
  ),
)
const address = fc.oneof(
  fc.emailAddress(),
  text,
  fc.constantFrom('a@b.co', 'A@B.CO', 'a@b', `${'a'.repeat(300)}@b.co`),
)

/** JSON text: a body that is almost valid, any JSON, or no JSON. */
function bodyOf(members: readonly string[]): fc.Arbitrary<string> {
  const value = fc.oneof({ weight: 6, arbitrary: text }, { weight: 1, arbitrary: fc.jsonValue() })
  const near = fc.record(
    {
      ...Object.fromEntries(members.map((name) => [name, name === 'email' ? address : value])),
      _gotcha: fc.oneof({ weight: 9, arbitrary: fc.constant('') }, { weight: 1, arbitrary: fc.jsonValue() }),
    },
    { requiredKeys: [] },
  )
  return fc.oneof(
    { weight: 8, arbitrary: near.map((body) => JSON.stringify(body)) },
    { weight: 1, arbitrary: fc.json() },
    { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
  )
}

describe.each(FORMS.map((form) => [form.path, form] as const))('%s', (path, { required, optional }) => {
  test('answers any body as documented', async () => {
    let accepted = 0
    const bodies = fc.array(bodyOf([...required, ...optional]), { minLength: PARALLEL, maxLength: PARALLEL })
    await fc.assert(
      fc.asyncProperty(bodies, async (sent) => {
        const answers = await Promise.all(sent.map((body) => server.as('nobody').post(path, body)))
        for (const { status, headers, body } of answers) {
          expect([200, 400]).toContain(status)
          expect(headers.get('api-version')).toBe('1')
          if (status === 200) {
            accepted++
            expect(body).toEqual({ success: true })
          } else {
            expect(headers.get('content-type')).toBe('application/problem+json')
            expect(Object.keys(body)).toEqual(expect.arrayContaining(problem.required))
            expect(problem.properties.code.enum).toContain(body.code)
            expect(body.error).toBeString()
          }
        }
      }),
      { numRuns: Math.ceil(RUNS / PARALLEL) },
    )
    expect(accepted).toBeWithin(1, RUNS)
  }, 600_000)
})
