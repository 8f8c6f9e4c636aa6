/** The section `webhooks` of the document: requests that the service sends to servers of its customers. */
import { type TSchema, Type } from '@sinclair/typebox'
import { exampleOf } from './example.ts'

/** A request that the service sends. */
interface SentRequest {
  readonly summary: string
  /** Shape of the member `data` of its body. */
  readonly data: TSchema
}

/** By the type of the event. */
export type SentRequests = Readonly<Record<string, SentRequest>>

const header = (name: string, description: string, example: string) => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
  example,
})

const PARAMETERS = [
  header(
    'webhook-id',
    'Id of the event, the same at every attempt: ignore an id that you know.',
    '6f1c2f5e-3b7d-4a55-9c0e-0d7a3f0c1b11',
  ),
  header('webhook-timestamp', 'When the attempt was made, in seconds since 1970.', '1767323045'),
  header(
    'webhook-signature',
    'Signatures of `id.timestamp.body` (HMAC-SHA256, base64), each after `v1,`, separated by spaces. Verify one of them.',
    'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  ),
]

const RESPONSES = {
  '2XX': { description: 'The event is received. It is not sent again.' },
  '410': { description: 'Nothing is to be sent any more: the webhook is disabled.' },
  default: {
    description: 'The event is sent again later. `Retry-After` of 429, 502, 503 and 504 is obeyed.',
  },
}

/** The section, before the schemas are converted (`readable`). */
export function sentSection(requests: SentRequests): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(requests).map(([type, { summary, data }]) => {
      const schema = Type.Object({
        type: Type.Literal(type, { description: 'Type of the event.' }),
        timestamp: Type.String({ format: 'date-time', description: 'When it happened, in UTC.' }),
        data: data,
      })
      const post = {
        operationId: operationIdOf(type),
        summary,
        description: `${summary}. See \`docs/webhooks.md\` for verification, retries and order.`,
        tags: ['Webhooks'],
        // The signature takes the place of a credential.
        security: [],
        parameters: PARAMETERS,
        requestBody: {
          required: true,
          description: 'The event, at most 256 KiB.',
          content: { 'application/json': { schema, example: { ...(exampleOf(schema) as object), type } } },
        },
        responses: RESPONSES,
      }
      return [type, { post }]
    }),
  )
}

/** `signal.created` → `receiveSignalCreated` */
function operationIdOf(type: string): string {
  return `receive${type.replaceAll(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase())}`
}
