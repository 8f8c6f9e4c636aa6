/** Wire shapes of the pages of the website. */
import { Type } from '@sinclair/typebox'

/** Path of the list. */
export const CONTENT = '/api/content'

/** Path of a page. */
export const pagePath = ({ slug }: { readonly slug: string }) => `${CONTENT}/${slug}`

const summary = {
  slug: Type.String({ description: 'Names the page in its address' }),
  title: Type.String(),
  description: Type.String({ description: 'One sentence on what the page is about' }),
}

export const PageList = Type.Object({ data: Type.Array(Type.Object(summary)) })

export const PageBody = Type.Object({
  ...summary,
  markdown: Type.String({ description: 'The text of the page (CommonMark)' }),
})
