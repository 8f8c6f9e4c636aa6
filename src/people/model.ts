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
    words: 'an e-mail address, such as ann@example.com',
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
          Type.String({
            pattern: DOMAIN,
            words: 'a domain such as example.com, without scheme, port or path',
            maxLength: MAX_DOMAIN,
            description: 'Such as `example.com`',
          }),
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
