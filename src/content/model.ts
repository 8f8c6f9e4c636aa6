/** Wire shapes of the pages of the website. */
import { Type } from '@sinclair/typebox'
import { named } from '../platform/validation/schema.ts'

/** Path of the list. */
export const CONTENT = '/api/content'

/** Path of a page. */
export const pagePath = ({ slug }: { readonly slug: string }) => `${CONTENT}/${slug}`

const summary = {
  slug: Type.String({ description: 'Names the page in its address' }),
  title: Type.String({ description: 'Title of the page' }),
  description: Type.String({ description: 'One sentence on what the page is about' }),
}

export const PageList = named(
  'ContentPages',
  Type.Object({
    data: Type.Array(named('ContentPageSummary', Type.Object(summary)), {
      description: 'Every page of the website.',
    }),
  }),
)

export const PageBody = named(
  'ContentPage',
  Type.Object({
    ...summary,
    markdown: Type.String({ description: 'The text of the page (CommonMark)' }),
  }),
)
