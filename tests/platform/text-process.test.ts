/** The child process of text jobs: a hanging job is ended alone, and the process ends with its parent. */
import { afterEach, expect, test } from 'bun:test'
import { getPriority } from 'node:os'
import { fileURLToPath } from 'node:url'
import { MessageChannel } from 'node:worker_threads'
import { createRemoteTextWork, serveTextPort } from '../../src/analysis/analyze/text-port.ts'
import {
  createTextProcesses,
  type TextProcesses,
  type TextProcessesOptions,
} from '../../src/analysis/analyze/text-process.ts'
import type { TextWork } from '../../src/analysis/analyze/text-work.ts'
import { eventually } from '../support/eventually.ts'

const { signal } = new AbortController()
const SCRIPT = fileURLToPath(new URL('../support/hanging-text.ts', import.meta.url))
const CLI = fileURLToPath(new URL('../../src/cli.ts', import.meta.url))

const processes: TextProcesses[] = []
afterEach(() => {
  for (const one of processes.splice(0)) one.close()
})

function start(options: Partial<TextProcessesOptions> = {}) {
  const started = createTextProcesses({ command: [process.execPath, SCRIPT], ...options })
  processes.push(started)
  return jobsOf(started)
}

const jobsOf =
  (work: TextWork) =>
  (text: string, { until = signal, organization = 'a' } = {}) =>
    work.run('excerpts', { texts: [text], most: 1, characters: 1 }, until, organization)

const isRunning = (pid: string) => Bun.spawnSync(['/bin/kill', '-0', pid]).success

test('jobs share a process, one after the other', async () => {
  const run = start()
  const answers = await Promise.all(['a', 'b', 'c'].map((text) => run(text)))
  expect(answers.map(([text]) => text)).toEqual(['a', 'b', 'c'])
  expect(new Set(answers.map(([, pid]) => pid)).size).toBe(1)
})

test('a hanging job is ended at its deadline, and no other job fails', async () => {
  // Allows a process to start on a busy machine.
  const run = start({ deadlineMs: 5_000 })
  const [, first] = await run('before')
  const [hanging, waiting] = await Promise.allSettled([run('hang'), run('after')])
  expect(hanging).toMatchObject({
    reason: { name: 'TextWorkError', message: 'the text work was ended after 5 s' },
  })
  expect(waiting).toMatchObject({ value: ['after', expect.not.stringMatching(first!)] })
  await eventually(() => !isRunning(first!))
}, 300_000)

test('a job with a lost turn is ended if running and dropped if waiting', async () => {
  const run = start()
  const [, first] = await run('before')
  const turn = new AbortController()
  const lost = [run('hang', { until: turn.signal }), run('hang', { until: turn.signal })]
  await Bun.sleep(0) // the first one has been sent
  turn.abort(new Error('the turn is over'))
  for (const { status } of await Promise.allSettled(lost)) expect(status).toBe('rejected')
  await eventually(() => !isRunning(first!))
  expect((await run('after'))[0]).toBe('after')
})

test('a job that kills the process, or throws, fails alone', async () => {
  const run = start()
  await expect(run('exit')).rejects.toThrow('the text process has ended')
  await expect(run('fail')).rejects.toThrow('the text work failed: RangeError')
  expect((await run('after'))[0]).toBe('after')
})

test('a killed process is replaced, busy or idle', async () => {
  const run = start({ idleMs: 50 })
  const [, first] = await run('a')
  process.kill(Number(first), 'SIGKILL')
  await eventually(() => !isRunning(first!))
  const [, second] = await run('b')
  await eventually(() => !isRunning(second!))
  expect((await run('c'))[0]).toBe('c')
})

test('background analyses have a process of their own, with a low priority, and delay no other job', async () => {
  const started = createTextProcesses({ command: [process.execPath, SCRIPT] })
  processes.push(started)
  // The answer of this script says what it was told, and its process id.
  const again = (text: string) =>
    started.run('insight_background', { texts: [text] } as never, signal, 'a') as unknown as Promise<string[]>
  const [[, light], [, heavy]] = await Promise.all([jobsOf(started)('a'), again('a')])
  expect(heavy).not.toBe(light!)
  expect(getPriority(Number(heavy)) - getPriority(Number(light))).toBeGreaterThan(0)
  void again('hang').catch(() => {}) // ends with the test: the deadline is 30 s
  expect((await jobsOf(started)('after'))[0]).toBe('after')
})

test('a background analysis has four times as long', async () => {
  const started = createTextProcesses({ command: [process.execPath, SCRIPT], deadlineMs: 250 })
  processes.push(started)
  const hanging = await started
    .run('insight_background', { texts: ['hang'] } as never, signal, 'a')
    .catch((error: Error) => error.message)
  expect<unknown>(hanging).toBe('the text work was ended after 1 s')
})

test('with one process, background analyses share it and have the same time', async () => {
  const started = createTextProcesses({
    command: [process.execPath, SCRIPT],
    textProcesses: 1,
    deadlineMs: 5_000,
  })
  processes.push(started)
  const run = jobsOf(started)
  const [, pid] = await run('now')
  const inBackground = (text: string) =>
    started.run('insight_background', { texts: [text] } as never, signal, 'a') as unknown as Promise<string[]>
  expect(await inBackground('later')).toEqual(['later', pid!])
  const hanging = await inBackground('hang').catch((error: Error) => error.message)
  expect<unknown>(hanging).toBe('the text work was ended after 5 s')
}, 300_000)

test('organizations take turns, and a hanging job of one never delays another', async () => {
  const run = start()
  // Ends with the test: the deadline is 30 s.
  const hanging = ['hang', 'hang', 'hang'].map((text) => run(text, { organization: 'noisy' }).catch(() => {}))
  const order: string[] = []
  const job = async (organization: string, number: number) => {
    await run(`${number}`, { organization })
    order.push(organization)
  }
  await Promise.all([...[1, 2, 3, 4].map((number) => job('a', number)), job('b', 1), job('c', 1)])
  expect(order.slice(0, 4).sort()).toEqual(['a', 'a', 'b', 'c'])
  for (const one of processes) one.close()
  await Promise.all(hanging)
}, 300_000)

test('threads share the processes; the jobs of a thread end with it', async () => {
  const shared = createTextProcesses({ command: [process.execPath, SCRIPT] })
  processes.push(shared)
  const threads = Array.from({ length: 2 }, () => {
    const { port1, port2 } = new MessageChannel()
    const remote = createRemoteTextWork(port2)
    processes.push(remote)
    return { run: jobsOf(remote), end: serveTextPort(port1, shared) }
  })
  const [first, second] = threads as [(typeof threads)[0], (typeof threads)[0]]
  const [[, pid], [, other]] = await Promise.all([first.run('a'), second.run('b')])
  expect(other).toBe(pid!)
  await first.run('fail').then(
    () => expect.unreachable(),
    (error) =>
      expect(error).toMatchObject({ name: 'TextWorkError', message: expect.stringMatching('RangeError') }),
  )
  const turn = new AbortController()
  const lost = first.run('hang', { until: turn.signal }).catch((error: Error) => error.message)
  const waiting = second.run('after')
  turn.abort(new Error('the turn is over'))
  expect(await lost).toBe('the turn is over')
  expect((await waiting)[0]).toBe('after')
  void first.run('hang').catch(() => {})
  await Bun.sleep(0) // it has been sent
  const behind = second.run('behind')
  first.end()
  expect((await behind)[0]).toBe('behind')
}, 300_000)

test('the real process does its jobs and ends with its parent', async () => {
  const real = createTextProcesses()
  processes.push(real)
  const subject = {
    channel: 'conversation' as const,
    said: [
      { own: true, text: 'Use the menu.' },
      { own: false, text: 'I did, and the app still crashes. 😀' },
    ],
  }
  const [insight] = await real.run('insight', { subjects: [subject], tier: 'rules' }, signal)
  expect(insight?.findings.map(({ kind }) => kind)).toContain('bug_report')
  const child = Bun.spawn([process.execPath, CLI, '__text-process'], { stdin: 'pipe', stdout: 'ignore' })
  child.stdin.end()
  expect(await child.exited).toBe(0)
}, 300_000)
