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

  test('the table of the imports has figures below its diagonal only', () => {
    const page = pages.find(({ path }) => path === 'docs/architecture.md')?.expected ?? ''
    const rows = [...page.matchAll(/^\| (`\w+`)((?: \| ?\d*)+) \|$/gm)].map(([, group = '', cells = '']) => ({
      group,
      cells: cells.split('|').slice(1).map(Number),
    }))
    expect(rows.length).toBeGreaterThan(10)
    const height = rows.length
    const upward = rows.filter(({ cells }, row) => cells.slice(height - 1 - row).some((count) => count > 0))
    expect(upward.map(({ group }) => group)).toEqual([])
  })
})
