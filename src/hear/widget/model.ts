/** Shapes of publishable keys and of what pages send. */
import { Type } from '@sinclair/typebox'
import {
  createdAt,
  moment,
  named,
  oneOf,
  orNull,
  text,
  trimmedText,
  uuid,
} from '../../platform/validation/schema.ts'

const MAX_KEY_NAME = 255
const MAX_ORIGINS = 20
const MAX_ORIGIN = 300
/** In code points. */
const MAX_COMMENT = 2000
const MAX_ID = 255

export const CreatePublishableKey = Type.Object(
  {
    name: trimmedText('What the key is for.', MAX_KEY_NAME),
    origins: Type.Array(
      text('Scheme, host and port of a page, such as `https://www.example.com`.', {
        minLength: 1,
        maxLength: MAX_ORIGIN,
      }),
      {
        minItems: 1,
        maxItems: MAX_ORIGINS,
        description: `1 to ${MAX_ORIGINS} origins whose pages may use the key. There are no wildcards.`,
      },
    ),
  },
  { additionalProperties: false },
)

const members = {
  id: uuid('Id of the key.'),
  name: Type.String({ description: 'What the key is for.' }),
  key: Type.String({ description: 'The key. It is no secret: every visitor of the page can read it.' }),
  origins: Type.Array(Type.String(), { description: 'Origins whose pages may use the key.' }),
  createdAt,
  lastUsedAt: orNull(moment('A moment.'), 'When the key was used last, in UTC; null: never.'),
  revokedAt: orNull(moment('A moment.'), 'When the key was revoked, in UTC; null: it is good.'),
}

export const PublishableKey = named('PublishableKey', Type.Object(members))
export const PublishableKeyList = Type.Object({
  data: Type.Array(PublishableKey, { description: 'Every key of the application, oldest first.' }),
})

const id = (description: string) => text(description, { minLength: 1, maxLength: MAX_ID, pattern: '\\S' })

/** What a page sends about one response. */
export const PageFeedback = Type.Object(
  {
    session: id('The `externalSessionId`.'),
    message: id('The `externalEventId` of the response.'),
    rating: oneOf(['positive', 'negative'], 'Whether the visitor likes the response.'),
    comment: Type.Optional(text('What the visitor wrote.', { maxLength: MAX_COMMENT })),
  },
  { additionalProperties: false },
)
