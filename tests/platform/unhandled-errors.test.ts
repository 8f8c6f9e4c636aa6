/** An error that no code has caught: it ends a process that is starting, and no process that serves requests. */
import { describe, expect, test } from 'bun:test'
import { fileURLToPath } from 'node:url'

async function run(when: string, how: string) {
  const script = fileURLToPath(new URL('../support/unhandled-process.ts', import.meta.url))
  const child = Bun.spawn([process.execPath, script, when, how], { stdout: 'pipe', stderr: 'pipe' })
  const [output, errors, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  const { level, msg, err } = JSON.parse(errors.trim())
  return { code, output, level, msg, message: err.message }
}

describe.each([
  ['exception', 'uncaughtException'],
  ['rejection', 'unhandledRejection'],
])('an unhandled %s', (how, msg) => {
  test('after the start is logged, and the process goes on', async () => {
    expect(await run('started', how)).toEqual({
      code: 0,
      output: 'alive\n',
      level: 50,
      msg,
      message: 'of one request',
    })
  })

  test('during the start ends the process with code 1', async () => {
    expect(await run('starting', how)).toMatchObject({ code: 1, level: 60, msg, message: 'of one request' })
  })
})
