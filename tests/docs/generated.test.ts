/** The generated parts of the documentation are up to date, and the tables match the code. */
import { describe, expect, test } from 'bun:test'
import { resolve } from 'node:path'
import { generatedPages } from '../../scripts/docs/sections.ts'

const ROOT = resolve(import.meta.dir, '../..')
const pages = await generatedPages(ROOT)

describe('generated documentation', () => {
  test.each(pages.map(({ path, text, expected }) => [path, text, expected] as const))(
    '%s is as the code has it; if not, run "bun run docs"',
    (_, text, expected) => {
      expect(text).toBe(expected)
    },
  )

  test('the picture of the imports has no arrow upward', () => {
    const order = ['cli', 'start', 'features', 'http', 'actors', 'client', 'settings', 'platform']
    const picture = pages.find(({ path }) => path === 'docs/architecture.md')?.expected ?? ''
    const arrows = [...picture.matchAll(/^ {2}(\w+) --> (\w+)$/gm)]
    expect(arrows.length).toBeGreaterThan(10)
    const upward = arrows.filter(([, from = '', to = '']) => order.indexOf(from) >= order.indexOf(to))
    expect(upward.map(([arrow]) => arrow)).toEqual([])
  })
})
