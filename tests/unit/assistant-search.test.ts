/** How the assistant finds what it answers from: sections, terms, passages, and what fits a question. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { passageOf } from '../../src/tell/assistant/passage.rules.ts'
import { createSearch } from '../../src/tell/assistant/search.ts'
import { toSections } from '../../src/tell/assistant/sections.rules.ts'
import { termsOf } from '../../src/tell/assistant/terms.rules.ts'

const page = (markdown: string, slug = 'page', title = 'Page') => ({ slug, title, markdown })

describe('sections', () => {
  test('are the text under each heading; empty ones are omitted', () => {
    const sections = toSections(
      page('Before.\n\n# One\n\n## Two ##\n\nUnder two,\non two lines.\n\n### Three\nThree.'),
    )
    expect(sections.map(({ heading, text }) => [heading, text])).toEqual([
      ['Page', 'Before.'],
      ['Two', 'Under two, on two lines.'],
      ['Three', 'Three.'],
    ])
  })

  test('hold plain text: no markup of links, emphasis, code, lists, quotations and tables', () => {
    const markdown = [
      'A [link](https://example.com/a_b), **strong**, *soft*, `snake_case` and <https://example.com>.',
      '- an item\n- another\n1. a number\n> quoted',
      '| a | b |\n|---|---|\n| 1 * 2 | 3 |',
      '---',
    ].join('\n\n')
    expect(toSections(page(markdown))[0]?.text.split('\n')).toEqual([
      'A link, strong, soft, snake_case and https://example.com.',
      'an item',
      'another',
      'a number',
      'quoted',
      'a b',
      '1 * 2 3',
    ])
  })

  test('keep lines of code unchanged, even if they look like headings', () => {
    const [section, ...others] = toSections(page('```sh\n# a comment\nrun --now\n```\nAfter.'))
    expect(section?.text.split('\n')).toEqual(['# a comment', 'run --now', 'After.'])
    expect(others).toEqual([])
  })
})

describe('terms', () => {
  test('relatives of an English word are one term', () => {
    for (const words of ['host hosts hosted hosting', 'recording recordings', 'privacy Privacy PRIVACY'])
      expect(new Set(termsOf(words)).size).toBe(1)
  })

  test('are without accents, grammar words and single letters', () => {
    expect(termsOf('What is the “Café” of an e-mail?')).toEqual(['cafe', 'mail'])
  })

  test('of other scripts are words, too', () => {
    expect(termsOf('Что такое запись?')).toEqual(['что', 'такое', 'запись'])
  })

  test('of any text are never empty', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => termsOf(text).every((term) => term !== '')),
    )
  })
})

describe('a passage', () => {
  const words = (sentence: string) => sentence.toLowerCase().match(/\w+/g) ?? []
  const telling =
    (...terms: string[]) =>
    (sentence: string) =>
      words(sentence).filter((w) => terms.includes(w))

  test('consists of neighbouring sentences with the most terms', () => {
    const text = 'First comes this. Then a horse. Then a cow and a horse. Last comes that.'
    expect(passageOf(text, 40, telling('horse', 'cow'))).toBe('Then a horse. Then a cow and a horse.')
  })

  test('is the earliest of equals, and the whole text if it fits', () => {
    expect(passageOf('A horse. A horse.', 9, telling('horse'))).toBe('A horse.')
    expect(passageOf('A horse.\nA cow.', 100, telling('cow'))).toBe('A horse. A cow.')
  })

  test('that is one too long sentence is cut at whole code points', () => {
    expect(passageOf('🐎🐎🐎🐎🐎', 3, () => [])).toBe('🐎🐎…')
  })

  test('is never longer than allowed', () => {
    const texts = fc.array(fc.string({ unit: 'grapheme' })).map((lines) => lines.join('. '))
    fc.assert(
      fc.property(texts, fc.integer({ min: 1, max: 50 }), (text, most) => {
        expect(Array.from(passageOf(text, most, words)).length).toBeLessThanOrEqual(most)
      }),
    )
  })
})

describe('search', () => {
  const search = createSearch([
    page('# Horses\n\nA horse eats grass.\n\n# Cows\n\nA cow eats grass and gives milk.', 'farm', 'The farm'),
    page('# Boats\n\nA boat swims. Horses like boats.', 'sea', 'The sea'),
  ])
  const best = (question: string) => search(question)[0]

  test('finds the section that the question is about', () => {
    expect(best('What do horses eat?')?.section).toMatchObject({ slug: 'farm', heading: 'Horses' })
    expect(best('Who gives milk?')?.section.heading).toBe('Cows')
    expect(best('boat')?.section).toMatchObject({ slug: 'sea', title: 'The sea' })
  })

  test('forgives a typing error', () => {
    const boats = createSearch([page('# Steamboats\n\nA steamboat swims.')])
    expect(boats('stemboats')[0]?.section.heading).toBe('Steamboats')
  })

  test('scores how much of the question a section contains; a word in no section counts most', () => {
    expect(best('Does a cow give milk?')?.share).toBe(1)
    expect(best('grass for elephants')?.share).toBeLessThan(0.5)
  })

  test('finds nothing for a question without terms or without matches', () => {
    expect(search('What is it?')).toEqual([])
    expect(search('?!')).toEqual([])
    expect(search('quantum chromodynamics')).toEqual([])
  })

  test('is deterministic and accepts any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (noise) => {
        const question = `${noise} horse cow`
        expect(search(question)).toEqual(search(question))
      }),
    )
  })
})
