/** What is forbidden in test files, found by a parser. */
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseSync, Visitor } from 'oxc-parser'

const TESTS = resolve(import.meta.dir, '..')

/** Lines with `expect(…).rejects` or `.resolves` as a statement of its own: nothing waits for the outcome. */
function unawaited(path: string, text: string): readonly string[] {
  const found: string[] = []
  new Visitor({
    ExpressionStatement({ expression, start }) {
      if (expression.type !== 'CallExpression') return
      const chain = text.slice(expression.callee.start, expression.callee.end)
      if (/^expect\b[\s\S]*\)\s*\.(?:rejects|resolves)\b(?:\s*\.\w+)+$/.test(chain))
        found.push(`${path}:${text.slice(0, start).split('\n').length}`)
    },
  }).visit(parseSync(path, text).program)
  return found
}

test('exactly the unawaited expectations of promises are found', () => {
  const text = [
    `expect(go()).rejects.toThrow('no')`,
    `await expect(go()).rejects.toThrow('no')`,
    `const outcome = expect(go()).resolves.toBe(1)`,
    `expect(`,
    `  go({ a: 'b' }),`,
    `).resolves.toBe(1)`,
    `expect(go().rejects).toBe(1)`,
  ].join('\n')
  expect(unawaited('a.ts', text)).toEqual(['a.ts:1', 'a.ts:4'])
})

test('every expectation of a promise is awaited', () => {
  const files = [...new Bun.Glob('**/*.ts').scanSync({ cwd: TESTS })].sort()
  expect(files.flatMap((file) => unawaited(file, readFileSync(join(TESTS, file), 'utf8')))).toEqual([])
})

test('CONTRIBUTING.md names the tests that try more in a thorough check, and no others', () => {
  const page = readFileSync(join(TESTS, '../CONTRIBUTING.md'), 'utf8')
  const [, table = ''] = page.split('### What `--thorough` adds')
  const named = [...table.matchAll(/^\| (`.+?`) \|/gm)].flatMap(
    ([, cell = '']) => cell.match(/[\w/-]+/g) ?? [],
  )
  const files = [...new Bun.Glob('**/*.ts').scanSync({ cwd: TESTS })]
  const trying = files.filter((file) => /from '.*\/rounds\.ts'/.test(readFileSync(join(TESTS, file), 'utf8')))
  expect(named.toSorted()).toEqual(trying.map((file) => file.replace(/(?:\.test)?\.ts$/, '')).toSorted())
})
