/** Markdown files as pages: front matter, names, order. */
import { describe, expect, test } from 'bun:test'
import { PageError, readPages } from '../../src/tell/content/page.rules.ts'

const file = (name: string, members: string, text = 'Text.') => ({
  name,
  source: `---\n${members}\n---\n${text}`,
})
const MEMBERS = 'title: A title\ndescription: What it is about.'

describe('a page', () => {
  test('has title and description from its front matter; the rest is its text', () => {
    const source = `---\n${MEMBERS}\n---\n\n# Heading\n\n---\n\nText.\n`
    expect(readPages([{ name: 'first-steps.md', source }])).toEqual([
      {
        slug: 'first-steps',
        title: 'A title',
        description: 'What it is about.',
        markdown: '# Heading\n\n---\n\nText.',
      },
    ])
  })

  test('may have Windows line endings and a byte order mark', () => {
    const source = `\uFEFF---\r\n${MEMBERS.replace('\n', '\r\n')}\r\n---\r\nOne.\r\nTwo.`
    expect(readPages([{ name: 'a.md', source }])[0]).toMatchObject({
      title: 'A title',
      markdown: 'One.\nTwo.',
    })
  })

  test('may have quoted values and an empty text', () => {
    const [page] = readPages([{ name: 'a.md', source: `---\ntitle: "What: this"\ndescription: 'That'\n---` }])
    expect(page).toEqual({ slug: 'a', title: 'What: this', description: 'That', markdown: '' })
  })

  test.each([
    ['no front matter', { name: 'a.md', source: '# Heading' }, 'must begin with front matter'],
    [
      'front matter without an end',
      { name: 'a.md', source: `---\n${MEMBERS}\n` },
      'must begin with front matter',
    ],
    ['no title', file('a.md', 'description: d'), 'must have a title'],
    ['no description', file('a.md', 'title: t'), 'must have a description'],
    ['an empty title', file('a.md', 'title: \ndescription: d'), 'is not "name: text"'],
    ['a list in its front matter', file('a.md', `${MEMBERS}\n- item`), 'is not "name: text"'],
    ['an order that is no number', file('a.md', `${MEMBERS}\norder: first`), 'a whole number as order'],
    ['a name with capitals', file('A.md', MEMBERS), 'must be named in lower case'],
    ['a name that is a path', file('../a.md', MEMBERS), 'must be named in lower case'],
  ])('with %s is refused by name', (_, page, message) => {
    expect(() => readPages([page])).toThrow(PageError)
    expect(() => readPages([page])).toThrow(`${page.name} `)
    expect(() => readPages([page])).toThrow(message)
  })
})

test('pages are sorted by order, then by name; pages without order come last', () => {
  const names = readPages([
    file('d.md', MEMBERS),
    file('c.md', MEMBERS),
    file('b.md', `${MEMBERS}\norder: 10`),
    file('a.md', `${MEMBERS}\norder: 9`),
  ]).map(({ slug }) => slug)
  expect(names).toEqual(['a', 'b', 'c', 'd'])
})
