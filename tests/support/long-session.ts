/** Generated session files of any size. Run with a path and a number of bytes, it writes one by hand. */
import { closeSync, openSync, writeSync } from 'node:fs'

const TEXT = 'The limit of the form is raised, and its test covers a password of 256 characters. '.repeat(12)

/** A turn of Claude Code: a message of the user, an answer over three lines, a long line of progress, and a result. */
function turn(session: string, index: number): string {
  const id = `${session}-${index}`
  const at = new Date(Date.UTC(2026, 0, 1) + index * 1_000).toISOString()
  const line = (members: object) => `${JSON.stringify({ sessionId: session, timestamp: at, ...members })}\n`
  const part = (suffix: string, block: object, output: number) =>
    line({
      type: 'assistant',
      uuid: `${id}-${suffix}`,
      message: {
        id: `msg-${id}`,
        model: 'example-large-1',
        content: [block],
        usage: { input_tokens: 10, output_tokens: output },
      },
    })
  return [
    line({ type: 'user', uuid: `${id}-u`, message: { role: 'user', content: `${index}: ${TEXT}` } }),
    part('a', { type: 'thinking', thinking: TEXT }, 1),
    part('b', { type: 'text', text: TEXT }, 2),
    part(
      'c',
      { type: 'tool_use', id: `t-${id}`, name: 'Edit', input: { file_path: 'src/a.ts', new_string: TEXT } },
      3,
    ),
    line({ type: 'progress', uuid: `${id}-p`, data: { type: 'agent_progress', message: TEXT.repeat(20) } }),
    line({
      type: 'user',
      uuid: `${id}-r`,
      message: {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: `t-${id}`, content: TEXT.repeat(8) }],
      },
    }),
  ].join('')
}

/** @returns the number of turns, of three events each */
export function writeLongSession(path: string, bytes: number, session = 'long-session'): number {
  const file = openSync(path, 'w')
  let turns = 0
  try {
    for (let size = 0; size < bytes; turns++) size += writeSync(file, turn(session, turns))
  } finally {
    closeSync(file)
  }
  return turns
}

if (import.meta.main) console.log(writeLongSession(process.argv[2] as string, Number(process.argv[3])))
