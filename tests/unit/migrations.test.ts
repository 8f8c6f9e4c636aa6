/** The list of migrations and the folder of their files agree. */
import { expect, test } from 'bun:test'
import { resolve } from 'node:path'
import { MIGRATIONS } from '../../sql/migrations.ts'

test('every file of sql/migrations is listed under its number and name, in order', () => {
  const folder = resolve(import.meta.dir, '../../sql/migrations')
  const files = [...new Bun.Glob('*.sql').scanSync(folder)].sort()
  const listed = MIGRATIONS.map(({ number, name }) => `${String(number).padStart(4, '0')}_${name}.sql`)
  expect(listed).toEqual(files)
})
