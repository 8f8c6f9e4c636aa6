/**
 * COVERAGE.md maps the rows and rules of the interface specification to tests; this file keeps the map true. A row
 * without a test, or with a test that does not exist, fails.
 */
import { describe, expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync, Visitor } from 'oxc-parser'
import { ERRORS } from '../src/app/error-catalogue.ts'

interface Row {
  readonly rule: string
  readonly tests: readonly { readonly file: string; readonly title: string }[]
}

const files = [...new Bun.Glob('**/*.test.ts').scanSync({ cwd: import.meta.dir })].sort()
const textOf = (file: string) => readFileSync(join(import.meta.dir, file), 'utf8')
const rows = readTable(textOf('COVERAGE.md'))

/** `| part | rule | file › title<br>file › title |`, where `file` stands for `tests/<file>.test.ts`. */
function readTable(markdown: string): readonly Row[] {
  return markdown
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) => line.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|')))
    .filter(([, part]) => part !== 'Part' && !/^:?-+:?$/.test(part ?? ''))
    .map(([, part, rule, tests = '']) => ({
      rule: `${part}: ${rule}`,
      tests: tests
        .split('<br>')
        .filter((entry) => entry.trim() !== '')
        .map((entry) => {
          const [file = '', ...title] = entry.split(' › ')
          return { file: `${file.trim()}.test.ts`, title: title.join(' › ').trim() }
        }),
    }))
}

/** Literals of the file, where its titles (also those of table-driven tests) stand. */
function literals(source: string): readonly string[] {
  const found = source.matchAll(/'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`/g)
  return [...found].map(([, single, double, template]) =>
    (single ?? double ?? template ?? '').replaceAll(/\\(['"`])/g, '$1'),
  )
}

/** Starts the service, or sends requests to it. */
const SPEAKS_TO_SERVICE = /\b(?:startTestServer|startAgents|clientOf|useServices)\(/

/**
 * Error codes that the file expects in answers: whole literals in a file that speaks to the service, without those that
 * stand in an error that the test itself makes.
 */
function codesOfAnswers(source: string): readonly string[] {
  if (!SPEAKS_TO_SERVICE.test(source)) return []
  const found: string[] = []
  let made = 0
  new Visitor({
    NewExpression() {
      made++
    },
    'NewExpression:exit'() {
      made--
    },
    Literal({ value }) {
      if (made === 0 && typeof value === 'string' && value in ERRORS.codes) found.push(value)
    },
  }).visit(parseSync('a.ts', source).program)
  return found
}

describe('coverage of the specification', () => {
  test('the table is read', () => {
    expect(rows.length).toBeGreaterThan(50)
  })

  test('every row names at least one test', () => {
    expect(rows.filter((row) => row.tests.length === 0).map((row) => row.rule)).toEqual([])
  })

  test('every named test exists', () => {
    const missing = rows.flatMap(({ rule, tests }) =>
      tests
        .filter(({ file, title }) => {
          if (title === '' || !existsSync(join(import.meta.dir, file))) return true
          return !literals(textOf(file)).some((literal) => literal.includes(title))
        })
        .map(({ file, title }) => `${rule} → ${file} › ${title}`),
    )
    expect(missing).toEqual([])
  })

  test('no rule is listed twice', () => {
    const rules = rows.map((row) => row.rule)
    expect(rules.filter((rule, index) => rules.indexOf(rule) !== index)).toEqual([])
  })

  test('every error code is expected of an answer of the service', () => {
    const expected = new Set(files.map(textOf).flatMap(codesOfAnswers))
    expect(Object.keys(ERRORS.codes).filter((code) => !expected.has(code))).toEqual([])
  })

  test('a code counts where an answer is compared with it, and nowhere else', () => {
    const asks = `await startTestServer(); expect(answer.body)`
    const counts = (text: string) => codesOfAnswers(text).includes('not_found')
    expect(counts(`${asks}.toMatchObject({ status: 404, code: 'not_found' })`)).toBe(true)
    expect(counts(`${asks}; test.each([['a', 'not_found']])('%s', () => {})`)).toBe(true)
    expect(counts(`expect(rule(1)).toBe('not_found')`)).toBe(false)
    expect(counts(`${asks}; test('says not_found', () => {})`)).toBe(false)
    expect(counts(`${asks}; // 'not_found'`)).toBe(false)
    expect(counts(`${asks}; throw new AppError('not_found', 'No.')`)).toBe(false)
  })

  test('no test is skipped, left to do, or run alone', () => {
    const own = 'coverage.test.ts'
    const muted = files.filter(
      (file) => file !== own && /\b(?:test|it|describe)\.(?:skip|todo|only|failing)\b/.test(textOf(file)),
    )
    expect(muted).toEqual([])
  })
})
