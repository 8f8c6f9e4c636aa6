/** Shapes of the website's pages in the API. */
import { Type } from '@sinclair/typebox'
import { named } from '../../platform/validation/schema.ts'

/** Path of the list. */
export const CONTENT = '/api/content'

/** Path of a page. */
export const pagePath = ({ slug }: { readonly slug: string }) => `${CONTENT}/${slug}`

const summary = {
  slug: Type.String({ description: 'The last part of the page’s address' }),
  title: Type.String({ description: 'Title of the page' }),
  description: Type.String({ description: 'One sentence about the page' }),
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
