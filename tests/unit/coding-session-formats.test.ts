/** What is read from files of each coding agent: one event for each message, counts, tokens, oddities. */
import { describe, expect, test } from 'bun:test'
import type { Format } from '../../src/hear/coding-sessions/event.rules.ts'
import { detectFormat } from '../../src/hear/coding-sessions/formats/detect.rules.ts'
import { MAX_RECORD_BYTES } from '../../src/hear/coding-sessions/records.rules.ts'
import { fixture, readPieces, readText, type StoredEvent, stored } from '../support/coding-session-files.ts'

const shown = ({ kind, role, body }: StoredEvent) =>
  `${kind} ${role}: ${(body.text ?? body.reasoning ?? body.toolCalls?.map(({ name }) => name).join(', ') ?? '').slice(0, 40)}`

function read(format: Format, text: string) {
  const { merger, merged } = readText(format, text)
  const events = stored(merged)
  const sum = (count: (event: StoredEvent) => number) => events.reduce((all, event) => all + count(event), 0)
  const own = (event: StoredEvent) => (event.inherited ? 0 : 1)
  return {
    events,
    session: merger.session,
    skipped: merger.skipped,
    fileEdits: sum((event) => event.fileEdits),
    toolCalls: sum((event) => event.toolCalls),
    input: sum((event) => own(event) * event.usage.inputTokens),
    output: sum((event) => own(event) * event.usage.outputTokens),
    cacheRead: sum((event) => own(event) * event.usage.cacheReadTokens),
    reasoning: sum((event) => own(event) * event.usage.reasoningTokens),
  }
}

describe('Claude Code', () => {
  const file = read('claude-code', fixture('claude-code.jsonl'))

  test('one message over many lines is one event, with texts and calls once and the usage of the last line', () => {
    const message = file.events.find(({ body }) => body.text === 'I raise the limit in the form.')
    expect(message).toMatchObject({
      kind: 'message',
      role: 'assistant',
      revision: 4,
      model: 'example-large-1',
      occurredAt: '2026-03-01T09:00:08Z',
      body: {
        reasoning: 'The limit is in the form.',
        toolCalls: [
          { id: 'toolu_01', name: 'Edit', fileEdits: 1 },
          { id: 'toolu_02', name: 'Bash' },
        ],
      },
      usage: { inputTokens: 12, outputTokens: 110, cacheReadTokens: 2000, cacheWriteTokens: 300 },
    })
  })

  test('events, in order: results of tools, commands, caveats, summaries and notices are no messages of people', () => {
    expect(file.events.map(shown)).toEqual([
      'notice system: <command-name>/clear</command-name>\n<com',
      'notice system: Caveat: The messages below were generate',
      'message user: The login form rejects long passwords. O',
      'message assistant: I raise the limit in the form.',
      'tool_result tool: The file src/login.ts has been updated.',
      'tool_result tool: 12 passed',
      'message assistant: Done. All tests pass.',
      'notice system: API Error: overloaded',
      'message user: Now the same for sign-up.',
      'notice system: [Request interrupted by user]',
      'notice system: Conversation compacted',
      'summary system: This session is being continued from a p',
      'message user: Look for other forms.',
      'message assistant: There is one in src/signup.ts.',
    ])
    expect(file.events.filter(({ sidechain }) => sidechain)).toHaveLength(2)
  })

  test('counts, tokens, title and branch', () => {
    expect(file).toMatchObject({ fileEdits: 1, toolCalls: 2, input: 29, output: 134, cacheRead: 4000 })
    expect(file.session).toEqual({
      externalSessionId: '11111111-aaaa-4aaa-8aaa-000000000001',
      branch: 'fix/login',
      title: 'Longer passwords',
    })
  })

  test('a torn last line and an unknown type are skipped and counted', () => {
    expect(file.skipped).toBe(2)
  })

  test('a fork has the ids of its parent', () => {
    const fork = read('claude-code', fixture('claude-code-fork.jsonl'))
    expect(fork.session.externalSessionId).not.toBe(file.session.externalSessionId)
    const parent = new Set(file.events.map(({ id }) => id))
    expect(fork.events.map(({ id }) => parent.has(id))).toEqual([...Array(7).fill(true), false])
  })

  test('a line of 7 MB works; one above the limit is skipped; long lines without content are not parsed', () => {
    const line = (size: number, type: string) =>
      JSON.stringify({
        parentUuid: null,
        sessionId: 's',
        type,
        uuid: `${size}`,
        data: type === 'progress' ? { type: 'agent_progress', text: 'x'.repeat(size) } : undefined,
        message: type === 'user' ? { role: 'user', content: 'x'.repeat(size) } : undefined,
      })
    const torn = line(7_000_000, 'progress').slice(0, -2)
    const text = [line(7_000_000, 'user'), torn, line(MAX_RECORD_BYTES, 'user'), line(1, 'user')].join('\n')
    const { events, skipped } = read('claude-code', text)
    expect(events).toHaveLength(2)
    expect(events[0]?.body.text).toHaveLength(256 * 1024)
    expect(skipped).toBe(1)
  })
})

describe('Codex', () => {
  const file = read('codex', fixture('codex.jsonl'))

  test('events, in order: each text once, injected texts left out', () => {
    expect(file.events.map(shown)).toEqual([
      'message user: Raise the limit of passwords.',
      'reasoning assistant: Look for the limit.',
      'tool_call assistant: shell',
      'tool_result tool: 3: const MAX = 72',
      'usage assistant: ',
      'tool_call assistant: apply_patch',
      'tool_result tool: Success. Updated the following files: M ',
      'message assistant: The limit is 256 now.',
      'usage assistant: ',
      'message user: continue',
      'message assistant: Nothing is left to do.',
      'usage assistant: ',
      'message user: continue',
      'message assistant: I rewrite the form.',
      'summary system: The limit was raised.',
    ])
  })

  test('cumulative tokens are counted once; a patch edits two files', () => {
    expect(file).toMatchObject({
      input: 1000,
      cacheRead: 2000,
      output: 100,
      reasoning: 25,
      fileEdits: 2,
      toolCalls: 2,
    })
  })

  test('turns that were rolled back are marked', () => {
    expect(file.events.filter(({ undone }) => undone).map(shown)).toEqual([
      'message user: continue',
      'message assistant: I rewrite the form.',
    ])
    expect(file.events.findLast(({ undone }) => undone)?.position).toBe(13)
  })

  test('repository, branch and commit; a torn line and an unknown type are counted', () => {
    expect(file.session).toEqual({
      externalSessionId: '22222222-bbbb-7bbb-8bbb-000000000001',
      repo: 'https://git.example.com/shop.git',
      branch: 'main',
      commit: '0f4c2d9',
    })
    expect(file.skipped).toBe(2)
  })

  test('a fork has the ids of its parent, and counts only its own tokens', () => {
    const fork = read('codex', fixture('codex-fork.jsonl'))
    expect(fork.session.externalSessionId).toBe('22222222-bbbb-7bbb-8bbb-000000000009')
    const copied = fork.events.filter(({ inherited }) => inherited)
    expect(copied.map(({ id }) => id)).toEqual(file.events.slice(0, 9).map(({ id }) => id))
    expect(fork.events.slice(9).map(shown)).toEqual([
      'message user: Use 512 instead.',
      'message assistant: It is 512 now.',
      'usage assistant: ',
    ])
    expect(fork).toMatchObject({ input: 100, cacheRead: 300, output: 20, reasoning: 5 })
  })

  test('totals that begin anew count as they are', () => {
    const total = (tokens: number, last: number) =>
      JSON.stringify({
        type: 'event_msg',
        payload: {
          type: 'token_count',
          info: { total_token_usage: { output_tokens: tokens }, last_token_usage: { output_tokens: last } },
        },
      })
    expect(
      read('codex', [total(50, 50), total(80, 30), total(10, 10), total(10, 10)].join('\n')).output,
    ).toBe(90)
  })

  test('the oldest files have no envelope', () => {
    const lines = [
      { id: 'old', timestamp: '2025-05-01T10:00:00.000Z', instructions: null },
      { record_type: 'state' },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello' }] },
      {
        type: 'function_call',
        name: 'shell',
        arguments: JSON.stringify({ command: ['apply_patch', '*** Add File: a\n*** Delete File: b\n'] }),
        call_id: 'c',
      },
    ]
    const { events, skipped, session, fileEdits } = read(
      'codex',
      lines.map((line) => JSON.stringify(line)).join('\n'),
    )
    expect(events.map(shown)).toEqual(['message user: Hello', 'tool_call assistant: shell'])
    expect([skipped, session.externalSessionId, fileEdits]).toEqual([0, 'old', 2])
  })
})

describe('Gemini CLI', () => {
  const file = read('gemini-cli', fixture('gemini-cli.jsonl'))

  test('the last version of a message counts', () => {
    expect(file.events.map(shown)).toEqual([
      'notice system: <session_context>\nToday is Wednesday.\n</',
      'message user: Raise the limit of passwords.',
      'message assistant: I look for the limit.',
      'message assistant: The limit is 256 now.',
      'notice system: Update available.',
      'message user: Use 512.',
      'message assistant: It is 512 now.',
      'message user: Use 128.',
    ])
    expect(file.events[2]?.body).toEqual({
      text: 'I look for the limit.',
      reasoning: 'Limits\nLooking for the limit.',
      toolCalls: [
        {
          id: 'replace-1',
          name: 'replace',
          input: { file_path: 'src/login.ts', old_string: '72', new_string: '256' },
          output: 'Successfully modified file: src/login.ts',
          fileEdits: 1,
        },
      ],
    })
  })

  test('counts, tokens and title', () => {
    expect(file).toMatchObject({
      input: 1205,
      output: 64,
      cacheRead: 3600,
      reasoning: 10,
      fileEdits: 1,
      toolCalls: 1,
    })
    expect(file.session).toEqual({
      externalSessionId: '33333333-cccc-4ccc-8ccc-000000000001',
      title: 'Longer passwords',
    })
    expect(file.skipped).toBe(2)
  })

  test('what was rewound is marked', () => {
    expect(file.events.filter(({ undone }) => undone).map(({ body }) => body.text)).toEqual([
      'Use 512.',
      'It is 512 now.',
    ])
  })

  test('an older file is one document over many lines, with the same events', () => {
    const document = read('gemini-cli', fixture('gemini-cli.json'))
    const [first, second, third] = [1, 2, 3].map((index) => file.events[index]?.id)
    expect(document.events.map(({ id }) => id)).toEqual([first, second, third] as string[])
    expect(document.session.title).toBe('Longer passwords')
    expect(document.skipped).toBe(0)
  })
})

test.each([
  ['claude-code.jsonl', 'claude-code'],
  ['claude-code-fork.jsonl', 'claude-code'],
  ['codex.jsonl', 'codex'],
  ['codex-fork.jsonl', 'codex'],
  ['gemini-cli.jsonl', 'gemini-cli'],
] as const)('%s is recognised as %s', (name, format) => {
  expect(detectFormat(fixture(name).split('\n'))).toBe(format)
})

test.each([
  ['{"id":"1","kind":"message","text":"x"}', 'normalized'],
  ['{"a":1}', null],
  ['hello', null],
  ['[]', null],
  ['', null],
] as const)('%s is recognised as %p', (line, format) => {
  expect(detectFormat([line])).toBe(format)
})

test('hostile lines of every format are skipped, and nothing is thrown', () => {
  const values: readonly unknown[] = [
    null,
    1,
    '"',
    [],
    {},
    { a: null },
    'x'.repeat(10),
    [[]],
    { type: {} },
    { toString: 1 },
  ]
  for (const format of ['normalized', 'claude-code', 'codex', 'gemini-cli'] as const)
    for (const type of [
      'user',
      'assistant',
      'response_item',
      'event_msg',
      'session_meta',
      'gemini',
      'constructor',
      'message',
    ])
      for (const value of values) {
        const members = [
          'message',
          'payload',
          'content',
          'timestamp',
          'uuid',
          'usage',
          'toolCalls',
          'id',
          'sessionId',
        ]
        const line = JSON.stringify({ type, ...Object.fromEntries(members.map((name) => [name, value])) })
        const nested = JSON.stringify({
          type,
          uuid: 'u',
          id: 'i',
          payload: { type: 'message', role: 'user', content: value, id: value },
          message: {
            content: [value, { type: 'tool_use', input: value, name: value }],
            id: value,
            usage: value,
          },
        })
        const oddType = JSON.stringify({ type: value, payload: { type: value, message: value } })
        const compacted = JSON.stringify({ type: 'compacted', payload: { message: value } })
        read(format, [line, nested, oddType, compacted].join('\n'))
      }
})

test('U+0000 and unpaired surrogates become storable', () => {
  const text =
    '{"role":"user","text":"a\\u0000b\\ud800c","toolCalls":[{"name":"t","input":{"k\\u0000":"\\udfff","p":"\\ud83d\\ude00"}}]}'
  const { events } = read('normalized', text)
  expect(JSON.stringify(events)).not.toMatch(/\\u0000|\\ud[89a-f]/i)
  expect(events[0]?.body.toolCalls?.[0]?.input).toMatchObject({ p: '😀' })
})

test('a secret at the limit of a text is redacted, and a private key that is cut off', () => {
  const key = `sk-${'a'.repeat(40)}`
  const pem = '-----BEGIN RSA PRIVATE KEY-----\nMIIB'
  const lines = [
    { kind: 'tool_result', text: `${'x '.repeat(8 * 1024 - 10)}${key}` },
    { text: `${pem}${'A'.repeat(500)}` },
  ]
  const { events } = read('normalized', lines.map((line) => JSON.stringify(line)).join('\n'))
  expect(JSON.stringify(events)).not.toContain('sk-a')
  expect(events[1]?.body.text).toBe('[redacted]')
})

test('the window is bounded: records of a message that are too far apart keep the first part', () => {
  const line = (uuid: string, id: string, text: string) =>
    JSON.stringify({
      type: 'assistant',
      sessionId: 's',
      uuid,
      message: { id, content: [{ type: 'text', text }] },
    })
  const others = Array.from({ length: 600 }, (_, index) => line(`o${index}`, `m${index}`, 'x'))
  const near = read(
    'claude-code',
    [line('a', 'm', 'one'), ...others.slice(0, 500), line('b', 'm', 'two')].join('\n'),
  )
  expect(near.events.find(({ body }) => body.text?.startsWith('one'))?.body.text).toBe('one\n\ntwo')
  const pieces = [line('a', 'm', 'one'), line('a2', 'm', 'more'), ...others, line('b', 'm', 'two')].map(
    (text) => new TextEncoder().encode(`${text}\n`),
  )
  expect(
    stored(readPieces('claude-code', pieces).merged).find(({ revision }) => revision === 2)?.body.text,
  ).toBe('one\n\nmore')
})
