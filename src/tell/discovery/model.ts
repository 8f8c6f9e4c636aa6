/** Shape of the discovery document of the website API. */
import { Type } from '@sinclair/typebox'
import { named, oneOf } from '../../platform/validation/schema.ts'

const Url = (description: string) => Type.String({ format: 'uri', description })

export const Discovery = named(
  'Discovery',
  Type.Object({
    name: Type.String({ description: 'Name of the API.' }),
    description: Type.String({ description: 'What the API is for.' }),
    versions: Type.Array(
      Type.Object({
        version: Type.String({ description: 'The value of the header `API-Version`' }),
        status: oneOf(['current', 'superseded'], 'Whether a newer version exists.'),
        released: Type.String({ format: 'date', description: 'Release date.' }),
        sunset: Type.Optional(
          Type.String({ format: 'date-time', description: 'A superseded version works until this time' }),
        ),
      }),
      { description: 'Versions of the API, the newest first.' },
    ),
    operations: Type.Array(
      Type.Object({
        id: Type.String({ description: '`operationId` in the OpenAPI document.' }),
        method: Type.String({ description: 'HTTP method.' }),
        url: Type.String({ description: 'A URI template (RFC 6570)' }),
        summary: Type.String({ description: 'What the operation does.' }),
        limit: Type.String({
          description: 'Name of the rate limit for these requests, as in the `RateLimit` header',
        }),
      }),
      { description: 'Operations of the website API; the OpenAPI document lists those of the REST API' },
    ),
    links: Type.Object(
      {
        self: Url('This document'),
        openapi: Url('The OpenAPI document of both APIs'),
        documentation: Url('Documentation for people'),
        catalog: Url('The API catalogue (RFC 9727)'),
        llms: Url('Overview for language models'),
        content: Url('The pages of the website'),
        health: Url('Health check'),
      },
      { description: 'Addresses of documents about the API.' },
    ),
  }),
)
