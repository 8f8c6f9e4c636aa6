/** Wire shape of the document by which a program finds its way around the website API. */
import { Type } from '@sinclair/typebox'

const Url = (description: string) => Type.String({ format: 'uri', description })

export const Discovery = Type.Object({
  name: Type.String(),
  description: Type.String(),
  versions: Type.Array(
    Type.Object({
      version: Type.String({ description: 'The value of the header `API-Version`' }),
      status: Type.Union([Type.Literal('current'), Type.Literal('superseded')]),
      released: Type.String({ format: 'date' }),
      sunset: Type.Optional(
        Type.String({ format: 'date-time', description: 'A superseded version works until then' }),
      ),
    }),
  ),
  operations: Type.Array(
    Type.Object({
      id: Type.String(),
      method: Type.String(),
      url: Type.String({ description: 'A URI template (RFC 6570)' }),
      summary: Type.String(),
      limit: Type.String({ description: 'The limit that requests count against, as `RateLimit` names it' }),
    }),
    { description: 'Of the website API; those of the REST API are in the OpenAPI document' },
  ),
  links: Type.Object({
    self: Url('This document'),
    openapi: Url('The OpenAPI document of both APIs'),
    documentation: Url('The same for people'),
    catalog: Url('The API catalogue (RFC 9727)'),
    llms: Url('The same for language models'),
    content: Url('The pages of the website'),
    health: Url('Whether the service is alive'),
  }),
})
