/**
 * No regular expression of the source takes more than linear time, whatever the text: `recheck` looks for a text that makes each of
 * them slow. They are found by a parser (literals), by being built (`new RegExp`), and in the schemas (`pattern`).
 *
 * Some take seconds each, because they have to be judged by trying texts. Those in tests/fixtures/judged-expressions.json passed a thorough
 * check, and every thorough check judges them again. A plain check judges all others, and so every new or changed one.
 */
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseSync, Visitor } from 'oxc-parser'
import { check } from 'recheck'
import judged from '../fixtures/judged-expressions.json'
import { cpuMs } from '../support/repeated-units.ts'
import { rounds } from '../support/rounds.ts'

const ROOT = resolve(import.meta.dir, '../..')

const BOUND_MS = 200

interface Found {
  /** File, and line where one is known. */
  readonly place: string
  readonly source: string
  readonly flags: string
}

const files = [...new Bun.Glob('{src,workers}/**/*.ts').scanSync({ cwd: ROOT })].sort()

/** Regular expressions as literals; and whether the file builds some, or has schemas. */
function readFile(path: string): { readonly literals: readonly Found[]; readonly isToBeLoaded: boolean } {
  const text = readFileSync(join(ROOT, path), 'utf8')
  const literals: Found[] = []
  let isToBeLoaded = false
  new Visitor({
    Literal(node) {
      if (!('regex' in node)) return
      const line = text.slice(0, node.start).split('\n').length
      literals.push({ place: `${path}:${line}`, source: node.regex.pattern, flags: node.regex.flags })
    },
    NewExpression(node) {
      if (node.callee.type === 'Identifier' && node.callee.name === 'RegExp') isToBeLoaded = true
    },
    Property(node) {
      if (node.key.type === 'Identifier' && node.key.name === 'pattern') isToBeLoaded = true
    },
  }).visit(parseSync(path, text).program)
  return { literals, isToBeLoaded }
}

/** In a process of its own, because a module that another test has loaded builds nothing any more. */
async function loaded(paths: readonly string[]): Promise<readonly Found[]> {
  const script = new URL('../support/loaded-expressions.process.ts', import.meta.url).pathname
  const child = Bun.spawn([process.execPath, script, ...paths], {
    cwd: ROOT,
    stdout: 'pipe',
    stderr: 'inherit',
  })
  return new Response(child.stdout).json() as Promise<readonly Found[]>
}

const takes = (expression: RegExp, text: string) => cpuMs(() => text.replace(expression, ''), BOUND_MS)

test('every regular expression takes linear time', async () => {
  const read = files.map((path) => ({ path, ...readFile(path) }))
  const found = read.flatMap(({ literals }) => literals)
  expect(found.length).toBeGreaterThan(100)
  const built = await loaded(read.filter(({ isToBeLoaded }) => isToBeLoaded).map(({ path }) => path))
  expect(built.length).toBeGreaterThan(10)
  const unique = new Map([...found, ...built].map((one) => [`/${one.source}/${one.flags}`, one]))
  const bad: string[] = []
  expect(
    judged.filter((text) => !unique.has(text)),
    'listed as judged, but not in the source any more',
  ).toEqual([])
  const known = new Set(rounds(judged, []))
  const queue = [...unique].filter(([text]) => !known.has(text))
  const judge = async () => {
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      const [text, { place, source, flags }] = next
      const verdict = await check(source, flags, { timeout: 60_000 })
      if (verdict.status === 'unknown') bad.push(`${place} ${text}: ${verdict.error.kind}`)
      // Large expressions are judged by trying texts, and sometimes wrongly: what counts is what the text really takes.
      if (
        verdict.status === 'vulnerable' &&
        (await takes(new RegExp(source, flags), verdict.attack.string)) > BOUND_MS
      )
        bad.push(`${place} ${text}: ${verdict.complexity.summary}, as ${verdict.attack.pattern}`)
    }
  }
  await Promise.all([judge(), judge()])
  expect(bad).toEqual([])
}, 300_000)
