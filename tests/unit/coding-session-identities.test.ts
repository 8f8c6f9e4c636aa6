/** Ids that come again, waiting prompts, copied histories and totals: what is one event and what is another. */
import { describe, expect, test } from 'bun:test'
import type { Format } from '../../src/hear/coding-sessions/event.rules.ts'
import { readText, type StoredEvent, stored } from '../support/coding-session-files.ts'

const jsonl = (lines: readonly object[]) => lines.map((line) => JSON.stringify(line)).join('\n')
const read = (format: Format, lines: readonly object[]) => stored(readText(format, jsonl(lines)).merged)
const told = ({ kind, body }: StoredEvent) =>
  `${kind}: ${body.text ?? body.toolCalls?.map(({ id, input }) => `${id} ${JSON.stringify(input)}`).join(', ') ?? ''}`
const messagesOf = (events: readonly StoredEvent[]) =>
  events.filter(({ kind }) => kind === 'message').map(({ role, body }) => `${role}: ${body.text}`)

describe('ids of Claude Code that are not unique', () => {
  const common = { sessionId: 's', isSidechain: false }
  const user = (uuid: string, content: unknown, more = {}) => ({
    ...common,
    type: 'user',
    uuid,
    message: { role: 'user', content },
    ...more,
  })
  const result = (uuid: string, id: string, content: string, more = {}) =>
    user(uuid, [{ type: 'tool_result', tool_use_id: id, content }], more)
  const answer = (uuid: string, content: readonly object[], more: object = {}, message: object = {}) => ({
    ...common,
    type: 'assistant',
    uuid,
    message: {
      id: 'msg_relay',
      model: 'm',
      content,
      usage: { input_tokens: 10, output_tokens: 5 },
      ...message,
    },
    ...more,
  })
  const text = (said: string) => ({ type: 'text', text: said })
  const call = (id: string, input: object) => ({ type: 'tool_use', id, name: 'Read', input })

  test('one id for all answers: each answer is one message with its own tokens', () => {
    const events = read('claude-code', [
      user('u1', 'One?'),
      answer('a1', [text('One.')], { parentUuid: 'u1' }),
      user('u2', 'Two?'),
      answer('a2', [text('Two.')], { parentUuid: 'u2' }),
      user('u3', 'Three?'),
      answer('a3', [text('Three.')], { parentUuid: 'u3' }),
    ])
    expect(messagesOf(events)).toEqual([
      'user: One?',
      'assistant: One.',
      'user: Two?',
      'assistant: Two.',
      'user: Three?',
      'assistant: Three.',
    ])
    expect(events.reduce((sum, { usage }) => sum + usage.outputTokens, 0)).toBe(15)
  })

  test.each([
    ['the tokens of the prompt tell', {}, { usage: { input_tokens: 40, output_tokens: 9 } }],
    ['the request tells', { requestId: 'r2' }, {}],
    ['the text behind a result tells', {}, {}],
  ])('one id within a turn: %s', (_, more, message) => {
    const events = read('claude-code', [
      user('u1', 'Look.'),
      answer('a1', [call('Read:0', { path: 'a' })], { parentUuid: 'u1', requestId: 'r1' }),
      result('r1', 'Read:0', 'AAA', { parentUuid: 'a1' }),
      answer('a2', [text('It is A.')], { parentUuid: 'r1', ...more }, message),
    ])
    expect(events.map(told)).toEqual([
      'message: Look.',
      'tool_call: Read:0 {"path":"a"}',
      'tool_result: AAA',
      'message: It is A.',
    ])
  })

  test('calls that are numbered anew in each answer keep their results', () => {
    const turn = (n: number, path: string, output: string) => [
      answer(`a${n}`, [call('Read:0', { path })], { parentUuid: `u${n}` }, { id: `msg_${n}` }),
      result(`r${n}`, 'Read:0', output, { parentUuid: `a${n}` }),
    ]
    const events = read('claude-code', [
      user('u1', 'Go.'),
      ...turn(1, 'a', 'same'),
      ...turn(2, 'b', 'same'),
      ...turn(3, 'c', 'C'),
    ])
    expect(events.filter(({ kind }) => kind === 'tool_result').map(told)).toEqual([
      'tool_result: same',
      'tool_result: same',
      'tool_result: C',
    ])
  })

  test('one answer whose tools run while it is written stays one, and so does a line that is written again', () => {
    const lines = [
      user('u1', 'Go.'),
      answer('a1', [text('I look.')], { parentUuid: 'u1' }),
      answer('a2', [call('t1', { path: 'a' })], { parentUuid: 'a1' }),
      result('r1', 't1', 'A', { parentUuid: 'a2' }),
      answer('a3', [call('t2', { path: 'b' })], { parentUuid: 'r1' }),
      result('r2', 't2', 'B', { parentUuid: 'a3' }),
    ]
    const events = read('claude-code', [...lines, user('u2', 'More?'), ...lines])
    expect(events.map(told)).toEqual([
      'message: Go.',
      'message: I look.',
      'tool_result: A',
      'tool_result: B',
      'message: More?',
    ])
    expect(events[1]?.toolCalls).toBe(2)
  })
})

describe('prompts that were typed while Claude Code worked', () => {
  const queue = (operation: string, content?: string, second = 1) => ({
    type: 'queue-operation',
    operation,
    sessionId: 's',
    timestamp: `2026-03-01T09:00:0${second}.000Z`,
    ...(content === undefined ? {} : { content }),
  })
  const user = (uuid: string, content: unknown) => ({
    type: 'user',
    sessionId: 's',
    uuid,
    timestamp: '2026-03-01T09:00:09.000Z',
    message: { role: 'user', content },
  })
  const attachment = (uuid: string, prompt: unknown, type = 'queued_command') => ({
    type: 'attachment',
    sessionId: 's',
    uuid,
    timestamp: '2026-03-01T09:00:01.000Z',
    attachment: { type, prompt, commandMode: 'prompt' },
  })

  test.each([
    ['only typed', [queue('enqueue', 'And the other?')], 'typed'],
    [
      'taken within the turn',
      [
        queue('enqueue', 'And the other?'),
        attachment('q', 'And the other?'),
        queue('remove', 'And the other?'),
      ],
      'written again',
    ],
    [
      'taken, and then written',
      [
        queue('enqueue', 'And the other?'),
        queue('remove', 'And the other?'),
        attachment('q', 'And the other?'),
      ],
      'written again',
    ],
    [
      'taken after the turn',
      [queue('enqueue', 'And the other?'), queue('dequeue'), user('u', 'And the other?')],
      'written again',
    ],
    ['only the attachment', [attachment('q', 'And the other?')], 'attachment'],
    ['an attachment of blocks', [attachment('q', [{ type: 'text', text: 'And the other?' }])], 'attachment'],
  ])('%s: one message of the user', (_, lines) => {
    expect(messagesOf(read('claude-code', lines))).toEqual(['user: And the other?'])
  })

  test('two that are taken as one are one message', () => {
    const events = read('claude-code', [
      queue('enqueue', 'One'),
      queue('enqueue', 'Two', 2),
      user('u', 'One\nTwo'),
    ])
    expect(messagesOf(events)).toEqual(['user: One\nTwo'])
  })

  test('one that the user took back, a command and a notice of the program are none', () => {
    const notification = '<task-notification>done</task-notification>'
    const lines = [
      queue('enqueue', 'Stop'),
      queue('popAll', 'Stop'),
      queue('enqueue', notification),
      attachment('q', notification),
    ]
    expect(messagesOf(read('claude-code', lines))).toEqual([])
  })

  test('a longer version of the file, in which the prompt was taken, has one message', () => {
    const short = [queue('enqueue', 'And the other?')]
    const long = [...short, queue('dequeue'), user('u', 'And the other?')]
    const uploads = [short, long, long].map((lines) => readText('claude-code', jsonl(lines)).merged)
    expect(messagesOf(stored(...uploads))).toEqual(['user: And the other?'])
  })

  test('a long prompt is read, a long attachment of another kind is not', () => {
    const long = 'x'.repeat(20_000)
    const lines = [attachment('q', long), { ...attachment('f', long, 'file'), broken: true }]
    expect(messagesOf(read('claude-code', lines))).toEqual([`user: ${long}`])
  })
})

describe('Codex', () => {
  const at = (seconds: number) => new Date(Date.UTC(2026, 2, 3, 8) + seconds * 1_000).toISOString()
  const line = (seconds: number, type: string, payload: object, more = {}) => ({
    timestamp: at(seconds),
    type,
    payload,
    ...more,
  })
  const meta = (id: string, seconds: number, more = {}) =>
    line(seconds, 'session_meta', { id, timestamp: at(seconds), ...more })
  const said = (seconds: number, role: string, text: string, more = {}) =>
    line(seconds, 'response_item', { type: 'message', role, content: [{ type: 'input_text', text }] }, more)
  const tokens = (output: number) => ({ input_tokens: 0, output_tokens: output })
  const total = (seconds: number, sum: number, last: number | null, more = {}) =>
    line(
      seconds,
      'event_msg',
      {
        type: 'token_count',
        info: {
          total_token_usage: tokens(sum),
          ...(last === null ? {} : { last_token_usage: tokens(last) }),
        },
      },
      more,
    )
  const own = (lines: readonly object[]) =>
    read('codex', lines).reduce((sum, { inherited, usage }) => sum + (inherited ? 0 : usage.outputTokens), 0)

  test('a call id that comes again is another call, with its own result', () => {
    const step = (seconds: number, path: string, output: string) => [
      line(seconds, 'response_item', {
        type: 'function_call',
        name: 'read',
        arguments: JSON.stringify({ path }),
        call_id: '0',
      }),
      line(seconds, 'response_item', { type: 'function_call_output', call_id: '0', output }),
    ]
    const events = read('codex', [
      meta('t', 0),
      ...step(1, 'a', 'A'),
      ...step(2, 'a', 'A'),
      ...step(3, 'b', 'B'),
    ])
    expect(events.map(told)).toEqual([
      'tool_call: 0 {"path":"a"}',
      'tool_result: A',
      'tool_call: 0 {"path":"a"}',
      'tool_result: A',
      'tool_call: 0 {"path":"b"}',
      'tool_result: B',
    ])
  })

  const history = (step: number) =>
    [...Array(6)].flatMap((_, n) => [
      said(step * n, 'user', `Q${n}`),
      said(step * n, 'assistant', `A${n}`),
      total(step * n, 10 * (n + 1), 10),
    ])
  const after = [said(90, 'user', 'Go on.'), said(95, 'assistant', 'Gone.'), total(95, 67, 7)]

  test.each([
    ['forked_from_id', { forked_from_id: 'parent' }],
    ['a sub-agent', { source: { subagent: { thread_spawn: { parent_thread_id: 'parent', depth: 1 } } } }],
  ])('%s alone: the copied history counts nothing, also if writing it took 5 s', (_, more) => {
    expect(own([meta('child', 0, more), ...history(1), ...after])).toBe(7)
  })

  test('the copied history has the ids of the parent, without its header too', () => {
    const parent = read('codex', [meta('parent', -500), ...history(1)]).map(({ id }) => id)
    const child = read('codex', [meta('child', 0, { forked_from_id: 'parent' }), ...history(0.1), ...after])
    expect(child.slice(0, parent.length).map(({ id }) => id)).toEqual(parent)
  })

  test('numbers of lines say where the copy ends', () => {
    const lines = [...history(0), ...after].map((one, ordinal) => ({ ...one, ordinal: ordinal + 1 }))
    const spawned = { parent_thread_id: 'parent', subagent_history_start_ordinal: 19 }
    expect(own([meta('child', 0, spawned), ...lines.map((one) => ({ ...one, timestamp: at(0) }))])).toBe(7)
  })

  test('ids of turns say where the copy ends, whatever the times', () => {
    const uuid = (seconds: number, n: number) => {
      const hex = (Date.UTC(2026, 2, 3, 8) + seconds * 1_000).toString(16).padStart(12, '0')
      return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${String(n).padStart(12, '0')}`
    }
    const turn = (seconds: number, id: string) =>
      line(seconds, 'event_msg', { type: 'task_started', turn_id: id })
    const lines = [
      meta(uuid(0, 1), 0, { forked_from_id: uuid(-900, 2) }),
      turn(1, uuid(-800, 3)),
      ...history(30),
      turn(200, uuid(200, 4)),
      said(200, 'user', 'Go on.'),
      said(200, 'assistant', 'Gone.'),
      total(200.1, 67, 7),
    ]
    expect(own(lines)).toBe(7)
  })

  test('totals: repeated, late and lower, begun anew lower and begun anew with the same number', () => {
    const turn = (n: number) => [said(10 * n, 'user', `Q${n}`), said(10 * n + 1, 'assistant', `A${n}`)]
    const events = (...totals: readonly (readonly [number, number | null])[]) =>
      own([
        meta('t', 0),
        ...totals.flatMap(([sum, last], n) => [...turn(n + 1), total(10 * n + 12, sum, last)]),
      ])
    expect(events([50, 50], [80, 30], [80, 30])).toBe(80)
    expect(events([100, 100], [200, 100], [150, 50], [250, 50])).toBe(250)
    expect(events([100, 100], [200, 100], [150, null], [250, 50])).toBe(250)
    expect(events([50, 50], [80, 30], [10, 10], [30, 20])).toBe(110)
    expect(events([50, 50], [50, 50])).toBe(100)
    expect(events([200, 100], [60, 30], [90, 30])).toBe(260)
  })

  test('a total that is repeated at the start of the next turn is no new request', () => {
    const lines = [
      said(1, 'user', 'Q'),
      said(2, 'assistant', 'A'),
      total(3, 50, 50),
      said(4, 'user', 'Q2'),
      total(5, 50, 50),
    ]
    expect(own([meta('t', 0), ...lines])).toBe(50)
  })

  describe('tokens are named by their place', () => {
    const turn = (seconds: number, id: string) =>
      line(seconds, 'event_msg', { type: 'task_started', turn_id: id })
    const record = (seconds: number, output: number, response: string) =>
      line(seconds, 'token_usage_record', {
        thread_id: 't',
        response_id: response,
        usage: tokens(output),
        thread_token_usage: tokens(output),
      })
    const usageIds = (lines: readonly object[]) =>
      read('codex', lines).flatMap(({ kind, id }) => (kind === 'usage' ? [id] : []))

    test.each([
      ['turns with ids', [turn(1, 'a')], [turn(4, 'b')]],
      ['turns that messages begin', [said(1, 'user', 'Q')], [said(4, 'user', 'Q2')]],
    ])('whatever their number is: %s', (_, first, second) => {
      const lines = (sums: readonly number[]) => [
        meta('t', 0),
        ...first,
        said(2, 'assistant', 'A'),
        total(2, sums[0] as number, sums[0] as number),
        said(3, 'assistant', 'B'),
        total(3, sums[1] as number, null),
        ...second,
        said(5, 'assistant', 'C'),
        total(5, sums[2] as number, sums[2] as number),
      ]
      const ids = usageIds(lines([50, 80, 50]))
      expect(new Set(ids).size).toBe(3)
      expect(usageIds(lines([60, 95, 60]))).toEqual(ids)
      // A longer version of the file, and one whose first turn had fewer requests.
      expect(usageIds(lines([50, 80, 50]).slice(0, -1))).toEqual(ids.slice(0, 2))
      expect(
        usageIds([
          ...lines([50, 80, 50]).slice(0, -3 - second.length),
          ...second,
          said(5, 'assistant', 'C'),
          total(5, 99, 49),
        ]),
      ).toEqual([ids[0], ids[2]] as string[])
    })

    test('a relay that gives one id to all answers loses none, and an answer that is written again counts once', () => {
      const lines = [
        meta('t', 0),
        turn(1, 'a'),
        said(1, 'assistant', 'A'),
        record(2, 10, 'r'),
        record(2, 10, 'r'),
        said(3, 'assistant', 'B'),
        record(3, 7, 'r'),
        turn(4, 'b'),
        said(4, 'assistant', 'C'),
        record(5, 10, 'r'),
      ]
      expect(own(lines)).toBe(27)
      expect(own([...lines, record(6, 10, 'r')])).toBe(27)
    })

    test('a copied history has the places of its parent', () => {
      const parent = [
        turn(-90, 'a'),
        ...history(0.1),
        turn(-80, 'b'),
        said(0.7, 'assistant', 'X'),
        total(0.7, 99, 39),
      ]
      const ids = usageIds([meta('parent', -500), ...parent])
      expect(
        usageIds([meta('child', 0, { forked_from_id: 'parent' }), ...parent, ...after]).slice(0, ids.length),
      ).toEqual(ids)
    })
  })

  test('records of each answer count once beside their totals, before or behind them', () => {
    const usage = (seconds: number, output: number, response: string, thread = 't') =>
      line(seconds, 'token_usage_record', {
        thread_id: thread,
        response_id: response,
        usage: tokens(output),
        thread_token_usage: tokens(output),
      })
    const answer = (seconds: number) => said(seconds, 'assistant', `A${seconds}`)
    const before = [
      meta('t', 0),
      answer(1),
      usage(2, 10, 'r1'),
      total(2, 10, 10),
      answer(3),
      usage(4, 5, 'r2'),
      total(4, 15, 5),
    ]
    expect(own(before)).toBe(15)
    expect(own([...before, usage(5, 5, 'r2')])).toBe(15)
    const behind = [
      meta('t', 0),
      answer(1),
      total(2, 10, 10),
      usage(2, 10, 'r1'),
      answer(3),
      usage(4, 5, 'r2'),
      total(4, 15, 5),
    ]
    expect(own(behind)).toBe(15)
    const alone = [
      meta('t', 0, { forked_from_id: 'p' }),
      usage(0, 99, 'p1', 'p'),
      answer(30),
      usage(40, 5, 'r1'),
    ]
    expect(own(alone)).toBe(5)
  })

  test.each([
    '<recommended_plugins>\nx\n</recommended_plugins>',
    '<hook_prompt hook_run_id="1">x</hook_prompt>',
  ])('%s is no message of the user', (text) => {
    expect(read('codex', [meta('t', 0), said(1, 'user', text)])).toEqual([])
  })
})

describe('what is written again', () => {
  test('a normalised message of the user with its calls, under a second id, is one message', () => {
    const message = (id: string, input: object) => ({
      id,
      kind: 'message',
      role: 'user',
      text: 'Look at this.',
      occurredAt: '2026-01-01T00:00:00Z',
      toolCalls: [{ id: 'c', name: 'Read', input }],
    })
    const events = (second: object) =>
      read('normalized', [message('m1', { file: 'a.ts' }), message('m2', second)]).length
    expect(events({ file: 'a.ts' })).toBe(1)
    expect(events({ file: 'b.ts' })).toBe(2)
  })

  test('an answer of many lines, with the prompt before it, is one answer', () => {
    const LINES = 15_000
    const common = { sessionId: 's', isSidechain: false }
    const line = (n: number) => ({
      ...common,
      type: 'assistant',
      uuid: `a${n}`,
      parentUuid: n === 0 ? 'u' : `a${n - 1}`,
      message: { id: 'msg_long', model: 'm', content: [{ type: 'text', text: `${n}.` }] },
    })
    const prompt = { ...common, type: 'user', uuid: 'u', message: { role: 'user', content: 'Count.' } }
    const file = [prompt, ...Array.from({ length: LINES }, (_, n) => line(n))]
    const told = (events: readonly StoredEvent[]) =>
      events.map(({ role, revision, body }) => ({ role, revision, units: body.text?.length }))
    const once = told(read('claude-code', file))
    expect(once.map(({ revision }) => revision)).toEqual([1, LINES])
    expect(told(read('claude-code', [...file, ...file]))).toEqual(once)
  }, 60_000)
})
