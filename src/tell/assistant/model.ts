/** Shapes and limits of the website's assistant. */
import { type Static, Type } from '@sinclair/typebox'
import { named, STORABLE_NOT_BLANK, text } from '../../platform/validation/schema.ts'

const MAX_QUESTION = 1_000
/** In code points. */
export const MAX_ANSWER = 800
export const MAX_EXCERPT = 240
export const MAX_SOURCES = 3

/** The answer if the pages do not contain one. Its `sources` are empty. */
export const UNKNOWN = 'I do not know. The pages of this website do not mention that.'

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
        title: Type.String({ description: 'Title of the page' }),
        excerpt: Type.String({
          description: `The matching passage, at most ${MAX_EXCERPT} characters`,
        }),
      }),
      {
        maxItems: MAX_SOURCES,
        description: 'The pages that the answer comes from, the best first; empty if the answer is unknown',
      },
    ),
  }),
)
export type Answer = Static<typeof Answer>
