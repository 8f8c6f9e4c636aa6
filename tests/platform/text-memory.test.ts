/** What the text process takes of memory at most: its tables are large, and small machines end a process that takes too much. */
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { linesOf } from '../../src/analysis/analyze/lines.ts'
import { TEXT_PROCESS } from '../../src/analysis/analyze/text-process.ts'
import type { TextJob, TextJobs } from '../../src/analysis/analyze/text-work.ts'
import { EARSHOT } from '../support/executable.ts'

const TEXT = 'The report that I get every Monday has shown last week’s numbers since the update. '
/** The tables alone are 100 MB, the program 80. With a copy of the tables by element it is 500 and more. */
const MOST_MEBIBYTES = 350

/** The peak so far, in MiB. */
function peakOf(pid: number): number {
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
}

test('loading all tables takes little more memory than they have', async () => {
  const child = Bun.spawn([...EARSHOT, TEXT_PROCESS], { stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' })
  const lines = linesOf(child.stdout)[Symbol.asyncIterator]()
  const ask = async <J extends TextJob>(job: J, input: TextJobs[J]['input']) => {
    child.stdin.write(`${JSON.stringify({ job, input })}\n`)
    await child.stdin.flush()
    const { value } = await lines.next()
    return JSON.parse(String(value)) as { readonly value: TextJobs[J]['output'] }
  }
  expect((await ask('places', { texts: [TEXT], cells: 1 })).value).toMatchObject([
    { cells: [expect.any(Number)] },
  ])
  const subject = { channel: 'conversation', said: [{ own: false, text: TEXT }] } as const
  expect((await ask('insight', { subjects: [subject], tier: 'all' })).value).toMatchObject([
    { language: 'en' },
  ])
  expect(peakOf(child.pid)).toBeLessThan(MOST_MEBIBYTES)
  child.kill()
  await child.exited
}, 100_000)
