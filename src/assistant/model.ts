/** Wire shapes and limits of the website's assistant. */
import { type Static, Type } from '@sinclair/typebox'
import { named, STORABLE_NOT_BLANK, text } from '../platform/validation/schema.ts'

const MAX_QUESTION = 1_000
/** Code points. */
export const MAX_ANSWER = 800
export const MAX_EXCERPT = 240
export const MAX_SOURCES = 3

/** What is answered where the pages say nothing about it; its `sources` are empty. */
export const UNKNOWN = 'I do not know: the pages of this website say nothing about that.'

export const Question = Type.Object({
  question: text(`1 to ${MAX_QUESTION} characters that are not all blank`, {
    minLength: 1,
    maxLength: MAX_QUESTION,
    documented: { pattern: STORABLE_NOT_BLANK },
  }),
})

export const Answer = named(
  'AssistantAnswer',
  Type.Object({
    answer: Type.String({ description: 'Plain text' }),
    sources: Type.Array(
      Type.Object({
        slug: Type.String({ description: 'The page, as in `GET /api/content/{slug}`' }),
        title: Type.String({ description: 'Of the page' }),
        excerpt: Type.String({
          description: `The passage that speaks of it, at most ${MAX_EXCERPT} characters`,
        }),
      }),
      {
        maxItems: MAX_SOURCES,
        description: 'The pages that the answer comes from, the best first; none where it is not known',
      },
    ),
  }),
)
export type Answer = Static<typeof Answer>
