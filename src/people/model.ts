/** Wire shapes of people: the customers that feedback and recordings are about. */
import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { positionedPageOf, positionQuery } from '../http/paging.ts'
import { momentParameter } from '../http/parameters.ts'
import { MAX_NAME } from '../platform/names.ts'

/** RFC 5321: 64 of the local part, `@`, and 255 of the domain. */
export const MAX_EMAIL = 320
/** RFC 1035 section 2.3.4, in the text form. */
const MAX_DOMAIN = 253

export const BOUNDARIES = ['external', 'internal'] as const
export type Boundary = (typeof BOUNDARIES)[number]

export const EMAIL = '^\\s*[^\\s@]+@[^\\s@]+\\s*$'
/** Labels with dots between them, in Unicode or as in DNS; no scheme, port or path. */
const DOMAIN = '^\\s*[^\\s@:/?#.]+(?:\\.[^\\s@:/?#.]+)+\\s*$'

/** A member that may be left out; `null` says the same. */
const optional = <S extends TSchema>(schema: S) => Type.Optional(Type.Union([schema, Type.Null()]))
const orNull = <S extends TSchema>(schema: S, description?: string) =>
  Type.Union([schema, Type.Null()], description === undefined ? {} : { description })
const Boundary = Type.Union(BOUNDARIES.map((boundary) => Type.Literal(boundary)))

export const PutPerson = Type.Object({
  email: Type.String({
    pattern: EMAIL,
    maxLength: MAX_EMAIL,
    description: 'Finds the person in the organization, by case or not, or makes one',
  }),
  first_name: optional(Type.String({ maxLength: MAX_NAME })),
  last_name: optional(Type.String({ maxLength: MAX_NAME })),
  boundary: optional(Boundary),
  company: optional(
    Type.Object(
      {
        name: optional(
          Type.String({ minLength: 1, description: `1 to ${MAX_NAME} characters after trimming` }),
        ),
        domain: optional(
          Type.String({ pattern: DOMAIN, maxLength: MAX_DOMAIN, description: 'Such as `example.com`' }),
        ),
      },
      { description: 'Found by `domain`, else by `name`, or made; one of them is required' },
    ),
  ),
})
export type PutPerson = Static<typeof PutPerson>

export const Person = Type.Object({
  id: Type.Integer(),
  first_name: orNull(Type.String()),
  last_name: orNull(Type.String()),
  email: orNull(Type.String()),
  boundary: Boundary,
  company_id: orNull(Type.Integer()),
  created_at: Type.String({ format: 'date-time' }),
})

export const PersonPage = positionedPageOf(Person)

export const PersonQuery = Type.Object({
  ...positionQuery,
  email: Type.Optional(Type.String({ description: 'The whole address, by case or not' })),
  since: Type.Optional(momentParameter('`created_at` is this or later.')),
  until: Type.Optional(momentParameter('`created_at` is before this.')),
})

/** What is left where it is, whatever it says: the answer names it, so that nobody believes it gone. */
export const LEFT_BY_ERASURE = [
  'ids_of_the_sender',
  'fingerprints',
  'other_conversations',
  'other_recordings',
  'media',
  'website_forms',
] as const

const Count = (description: string) => Type.Optional(Type.Integer({ minimum: 0, description }))

export const PersonErasure = Type.Object({
  id: Type.String({ format: 'uuid', description: 'Identifies the erasure' }),
  person_id: Type.Integer({ description: 'The `id` that the person had' }),
  status: Type.Union([Type.Literal('running'), Type.Literal('completed')], {
    description:
      '`running`: conversations and recordings are being searched; `completed`: what is counted in `erased` is gone, and the service ' +
      'no longer knows whom the erasure was about',
  }),
  requested_at: Type.String({
    format: 'date-time',
    description: 'When the erasure was requested. What arrives later is new data',
  }),
  finished_at: orNull(
    Type.String({ format: 'date-time' }),
    'When it was completed; `null` while it is running',
  ),
  erased: Type.Object(
    {
      feedbackRecords: Count('Feedback records of the person that were deleted'),
      participations: Count('Places among the participants of recordings that were deleted'),
      sessions: Count(
        'Agent conversations in which the person took part. The participant stays, without name, address and ids',
      ),
      events: Count('Messages of these conversations in which something was replaced by `[erased]`'),
      signals: Count('Signals of these conversations in which something was replaced'),
      recordings: Count('Recordings of the person whose name or summary was changed'),
      utterances: Count('Utterances of the transcripts of these recordings that were changed'),
      values: Count('Metadata values of these recordings that were changed'),
      fileNames: Count('Names of uploaded files of these recordings that were changed'),
    },
    {
      description:
        'How much was erased so far. A kind that was not reached yet is absent while the erasure is running',
    },
  ),
  left: Type.Array(Type.Union(LEFT_BY_ERASURE.map((left) => Type.Literal(left))), {
    description:
      'What an erasure does not change. `ids_of_the_sender`: `externalSessionId`, `externalEventId`, external ids of records. ' +
      '`fingerprints`: SHA-256 digests of messages, by which retries are recognised. `other_conversations` and `other_recordings`: ' +
      'those in which the person is not a participant, though somebody may mention the person there. `media`: sound and pictures. ' +
      '`website_forms`: submissions to the operator of the service.',
  }),
})
