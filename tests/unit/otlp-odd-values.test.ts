/** Trace requests whose values have other types than the encoding says. Only those without the structure of a
 * request are refused, and none costs more than its bytes. */
import { describe, expect, test } from 'bun:test'
import { DEFAULT_SETTINGS } from '../../src/hear/agents/settings.ts'
import { readMessages } from '../../src/hear/otlp/messages.rules.ts'
import { createTraceWork, type ReadTraces } from '../../src/hear/otlp/work.ts'
import { kept, keyValues, parent, requestOf, span } from '../support/otlp.ts'

function read(request: unknown): ReadTraces {
  const parts = [Buffer.from(JSON.stringify(request))]
  const input = {
    parts,
    encoding: 'json' as const,
    applicationId: 'a',
    version: 1,
    settings: DEFAULT_SETTINGS,
  }
  return createTraceWork().run(input, () => {})
}

/** The first span of a request. */
const SPAN = 'resourceSpans[0].scopeSpans[0].spans[0]'
const AGENT = { 'gen_ai.operation.name': 'invoke_agent' }
/** `String` and `Number` fail for such a value. */
const NO_TEXT = { toString: 1, toNumber: 1 }
/** The same as an attribute. */
const noText = (key: string) => ({
  key,
  value: { kvlistValue: { values: [{ key: 'toString', value: { stringValue: 'x' } }] } },
})

describe('lists and objects', () => {
  const places: readonly [string, (value: unknown) => unknown][] = [
    ['resourceSpans', (value) => ({ resourceSpans: value })],
    ['resourceSpans[0].resource', (value) => ({ resourceSpans: [{ resource: value }] })],
    [
      'resourceSpans[0].resource.attributes',
      (value) => ({ resourceSpans: [{ resource: { attributes: value } }] }),
    ],
    ['resourceSpans[0].scopeSpans', (value) => ({ resourceSpans: [{ scopeSpans: value }] })],
    [`${SPAN.slice(0, -3)}`, (value) => ({ resourceSpans: [{ scopeSpans: [{ spans: value }] }] })],
    [`${SPAN}.attributes`, (value) => requestOf([{ ...span(1, 0, {}), attributes: value }])],
    [`${SPAN}.events`, (value) => requestOf([{ ...span(1, 0, {}), events: value }])],
    [
      `${SPAN}.events[0].attributes`,
      (value) => requestOf([{ ...span(1, 0, {}), events: [{ attributes: value }] }]),
    ],
  ]

  test.each(places)(
    'a %s of another type refuses the request, and null is an absent one',
    (path, bodyWith) => {
      for (const value of ['x', 5, true, [1], ['x'], [null], [[]]])
        expect(() => read(bodyWith(value))).toThrow(path)
      expect(read(bodyWith(null)).rejected).toBe(0)
    },
  )

  test('a request that is no object is refused', () => {
    for (const value of ['x', 5, true, null, [], [{}]]) expect(() => read(value)).toThrow('must be an object')
  })
})

describe('ids and times', () => {
  const values = [5, true, {}, [], ['a'], { length: 200_000_000 }, NO_TEXT, 'xyz', 'ab'.repeat(40)]
  const members = ['traceId', 'spanId', 'parentSpanId', 'startTimeUnixNano', 'endTimeUnixNano']
  const cases = members.flatMap((member) => values.map((value) => [member, JSON.stringify(value), value]))

  test.each(cases as [string, string, unknown][])('a span with the %s %s is rejected', (member, _, value) => {
    const { rejected, pieces } = read(
      requestOf([{ ...span(1, 0, AGENT), [member]: value }, span(2, 0, AGENT)]),
    )
    expect([rejected, pieces.map(({ count }) => count)]).toEqual([1, [1]])
  })

  test('an id is hexadecimal text of either case', () => {
    const ids = { traceId: 'AB'.repeat(16), spanId: 'CD'.repeat(8), parentSpanId: 'Ef'.repeat(8) }
    expect(kept(requestOf([{ ...span(1, 0, AGENT), ...ids }]))).toMatchObject([
      { traceId: 'ab'.repeat(16), id: 'cd'.repeat(8), parent: 'ef'.repeat(8) },
    ])
  })

  test('a missing, empty or zero parent makes a root', () => {
    for (const parentSpanId of [undefined, null, '', '0'.repeat(16)])
      expect(kept(requestOf([{ ...span(1, 0, AGENT), parentSpanId }]))[0]?.parent).toBeUndefined()
  })
})

describe('names and attributes', () => {
  const feedback = { name: 'gen_ai.evaluation.result' }
  const named = keyValues({ 'gen_ai.evaluation.name': 'user_feedback' })
  const content = [{ role: 'user', content: [{ type: NO_TEXT, text: 'x' }] }]
  const cases: readonly [string, object][] = [
    ['the name of an event', { attributes: keyValues(AGENT), events: [{ name: NO_TEXT }] }],
    ['an integer', { attributes: [{ key: 'a', value: { intValue: NO_TEXT } }] }],
    ['a number', { attributes: [{ key: 'a', value: { doubleValue: NO_TEXT } }] }],
    ['a key', { attributes: [{ key: 'a', value: { kvlistValue: { values: [{ key: NO_TEXT }] } } }] }],
    ['the kind', { attributes: [noText('gen_ai.operation.name')] }],
    ['tokens', { attributes: [...keyValues(AGENT), noText('gen_ai.usage.input_tokens')] }],
    ['the type of a part', { attributes: keyValues({ ...AGENT, 'gen_ai.input.messages': content }) }],
    ['the name of feedback', { events: [{ ...feedback, attributes: [noText('gen_ai.evaluation.name')] }] }],
    [
      'the label of feedback',
      { events: [{ ...feedback, attributes: [...named, noText('gen_ai.evaluation.score.label')] }] },
    ],
  ]
  test.each(cases)('%s that is no text is ignored', (_, more) => {
    const { rejected, pieces } = read(requestOf([{ ...span(1, 0, {}), ...more }, span(2, 0, AGENT)]))
    expect([rejected, pieces.map(({ count }) => count)]).toEqual([0, [2]])
  })

  describe.each(['toString', 'constructor', '__proto__'])('%s is no listed value', (name) => {
    test('of a kind: what the span carries decides', () => {
      const chat = { 'gen_ai.input.messages': [{ role: 'user', content: 'x' }] }
      const found = kept(requestOf([span(1, 0, { ...chat, 'gen_ai.operation.name': name })]))
      expect(found).toMatchObject([{ kind: 'model', question: 'x' }])
    })

    test('of a label: the score counts', () => {
      const attributes = keyValues({
        'gen_ai.evaluation.name': 'user_feedback',
        'gen_ai.evaluation.score.label': name,
        'gen_ai.evaluation.score.value': 1,
      })
      const found = kept(requestOf([{ ...span(1, 0, {}), events: [{ ...feedback, attributes }] }]))
      expect(found[0]?.feedback).toMatchObject([{ rating: 'positive' }])
    })

    test('of a role: what has it is no message of the user or the agent', () => {
      expect(readMessages([{ role: name, content: 'x' }], 'user').map(({ role }) => role)).toEqual(['other'])
    })

    test('of a type: it says nothing about the message', () => {
      expect(readMessages([{ type: name, content: 'x' }], 'user')).toEqual([{ role: 'user', text: 'x' }])
    })
  })

  test('an event may have a million messages', () => {
    const content = JSON.stringify(Array(1_000_000).fill('a'))
    const events = [{ name: 'gen_ai.choice', attributes: keyValues({ content }) }]
    expect(kept(requestOf([{ ...span(1, 0, AGENT, parent(9)), events }]))).toMatchObject([{ answer: 'a' }])
  })
})

describe('payloads that lie deep within each other', () => {
  test.each([
    ['arguments', (inner: object) => ({ args: [inner, 'x'] })],
    ['messages', (inner: object) => ({ message: inner })],
  ])('%s are looked at a few times each, however many there are', (_, around) => {
    let looks = 0
    const counted = (value: object) =>
      new Proxy(value, {
        get(target, name) {
          if (name === 'args') looks++
          return Reflect.get(target, name)
        },
      })
    let payload = counted({})
    for (let depth = 0; depth < 18; depth++) payload = counted(around(payload))
    readMessages(payload, 'user')
    expect(looks).toBeWithin(1, 18 * 13)
  })

  test('lists within lists of a content say nothing', () => {
    const content = `${'['.repeat(50_000)}"x"${']'.repeat(50_000)}`
    expect(readMessages(`[{"role": "user", "content": ${content}}]`, 'user')).toEqual([
      { role: 'user', text: '[cut]' },
    ])
  })
})
