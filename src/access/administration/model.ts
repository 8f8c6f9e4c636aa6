/** Shapes of API keys, credits and messages of actors in the API. */
import { Type } from '@sinclair/typebox'
import { pageOf, pageQuery } from '../../http/paging.ts'
import { MAX_NAME } from '../../platform/validation/names.ts'
import {
  count,
  moment,
  named,
  oneOf,
  optionalOrNull,
  orNull,
  text,
  trimmedText,
  uuid,
} from '../../platform/validation/schema.ts'

const keyMembers = {
  id: uuid('Identifies the key'),
  name: Type.String({ description: 'What the key is for' }),
  prefix: Type.String({
    examples: ['esk_012345'],
    description: 'The first characters of the key, to tell keys apart',
  }),
  createdAt: moment('When the key was created'),
  lastUsedAt: orNull(moment('When'), 'When the key was last used, to the minute; `null`: never'),
  revokedAt: orNull(moment('When'), 'When the key was revoked; `null`: it is valid'),
}
export const ApiKey = named('ApiKey', Type.Object(keyMembers))

export const NewApiKey = named(
  'NewApiKey',
  Type.Object({
    ...keyMembers,
    apiKey: Type.String({
      description: 'The key, for `X-Service-Api-Key`. It is shown only once',
      examples: ['esk_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefg'],
    }),
  }),
)

const keyName = trimmedText('What the key is for.', MAX_NAME)
export const CreateApiKey = Type.Object({ name: keyName }, { additionalProperties: false })
export const UpdateApiKey = Type.Object({ name: keyName }, { additionalProperties: false })

const BALANCE = 'Units that may still be metered; `null`: unlimited'
const balance = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })

export const CreditBalance = named('CreditBalance', Type.Object({ balance: orNull(balance, BALANCE) }))

export const CreditEntry = named(
  'CreditEntry',
  Type.Object({
    id: uuid('Identifies the entry'),
    amount: Type.Integer({ description: 'Units added; negative: units taken away' }),
    note: orNull(Type.String({ examples: ['Order 4711'] }), 'The reason; `null` if none was given'),
    createdAt: moment('When the balance was changed'),
  }),
)

const note = optionalOrNull(text('The reason', { maxLength: 1000 }), 'The reason: at most 1000 characters')

/** One addition. A balance that outgrows safe integers is refused. */
const MAX_UNITS = 1_000_000_000_000

export const AddCredits = Type.Object(
  {
    units: Type.Integer({ minimum: 1, maximum: MAX_UNITS, description: `Units to add: 1 to ${MAX_UNITS}` }),
    note,
  },
  { additionalProperties: false },
)

export const SetCredits = Type.Object(
  { balance: orNull(balance, BALANCE), note },
  { additionalProperties: false },
)

const members = {
  actor: Type.String({
    description: 'Key of the actor: its kind, a colon and an id',
    examples: ['session:01a1fdc2-308c-730f-afc3-7288cab37998'],
  }),
  number: Type.Integer({ minimum: 1, description: 'Number of the message in the mailbox of its actor' }),
  type: Type.String({ description: 'What the message asks for' }),
  attempts: Type.Integer({ minimum: 0, description: 'Failed attempts' }),
}

const WaitingMessage = named(
  'WaitingMessage',
  Type.Object({ ...members, availableAt: moment('When the next attempt is due, or was') }),
)

const DeadLetter = named(
  'DeadLetter',
  Type.Object({ ...members, deadSince: moment('When the message was given up') }),
)

export const WaitingMessagePage = pageOf(WaitingMessage)
export const DeadLetterPage = pageOf(DeadLetter)

export const WaitingMessageQuery = Type.Object({
  kind: Type.Optional(
    text('Lists only messages of this kind of actor, such as `session`.', { maxLength: 100 }),
  ),
  ...pageQuery(100, 20),
})

export const DeadLetterQuery = Type.Object({
  actor: Type.Optional(text('Lists only dead letters of this actor.', { maxLength: 200 })),
  ...pageQuery(100, 20),
})

export const ACTOR_PARAMS = {
  actorKey: Type.String({
    description: 'Key of the actor, such as `session:01a1fdc2-308c-730f-afc3-7288cab37998`',
  }),
  messageNumber: Type.String({ description: 'Number of the message in the mailbox of its actor' }),
}

const PARTS = ['database', 'redis', 'media', 'transcription', 'model', 'meetings', 'mail'] as const

export const ServiceState = named(
  'ServiceState',
  Type.Object({
    version: Type.String({ description: 'Version of the process that answers', examples: ['1.2.0'] }),
    workers: count('Workers that were active in the last seconds, of all processes'),
    waiting: count('Messages of the organization that wait. At most 1,000 are counted', { maximum: 1_000 }),
    dueSince: orNull(moment('When'), 'When the first of these was due; `null`: none is due'),
    deadLetters: count('Messages of the organization that failed for good. At most 1,000 are counted', {
      maximum: 1_000,
    }),
    parts: Type.Array(
      Type.Object({
        name: oneOf(PARTS, 'What the service runs on'),
        state: oneOf(
          ['ready', 'failed', 'not_configured'],
          '`not_configured`: the service works without it, as `detail` says',
        ),
        detail: orNull(Type.String({ examples: ['PostgreSQL 17.2'] }), 'More about it'),
        settings: Type.Array(Type.String({ examples: ['SMTP_URL'] }), {
          description: 'Settings that configure it; empty where it is configured',
        }),
      }),
      { description: 'What the service runs on' },
    ),
  }),
)
