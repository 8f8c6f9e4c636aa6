/** The form of the import in the console: columns and the mapping that the service takes. */
import { expect, test } from 'bun:test'
import { columnsOf, mappingOf, withUse } from '../../src/console/app/import/mapping.ts'

const HEADER = ['Ticket', 'Mail', 'Comment', 'Score', 'Note', 'Other']
const MAPPING = {
  external_id: 'Ticket',
  email: 'Mail',
  columns: { Comment: 'content:string:text', Score: 'metadata:integer', Note: '-' },
}

test('a mapping is shown by column and comes back the same; a column without one is context', () => {
  const columns = columnsOf(HEADER, MAPPING)
  expect(columns.map(({ column, use, type }) => [column, use, type])).toEqual([
    ['Ticket', 'external_id', 'string'],
    ['Mail', 'email', 'string'],
    ['Comment', 'content', 'string'],
    ['Score', 'metadata', 'integer'],
    ['Note', '-', 'string'],
    ['Other', 'metadata', 'string'],
  ])
  expect(mappingOf(columns)).toEqual({
    ...MAPPING,
    columns: { ...MAPPING.columns, Other: 'metadata:string' },
  })
})

test('a role belongs to one column', () => {
  const columns = withUse(columnsOf(HEADER, MAPPING), 'Other', 'email')
  expect(mappingOf(columns)).toMatchObject({ email: 'Other', columns: { Mail: 'metadata:string' } })
  // Several columns may be left out.
  expect(mappingOf(withUse(columns, 'Score', '-'))).toMatchObject({ columns: { Score: '-', Note: '-' } })
})
