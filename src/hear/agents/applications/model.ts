/** The shapes of requests and answers that administer agent applications. */
import { type Static, Type } from '@sinclair/typebox'
import { pageQuery } from '../../../http/paging.ts'
import { momentParameter } from '../../../http/parameters.ts'
import {
  count,
  createdAt,
  moment,
  named,
  oneOf,
  orNull,
  text,
  trimmedText,
  updatedAt,
  uuid,
} from '../../../platform/validation/schema.ts'
import { AgentSettings, settingsMembers } from '../settings.ts'

/** In code points, after trimming. */
export const MAX_APPLICATION_NAME = 255
/** Most live secrets of an application. A rotation needs two; many more are usually forgotten credentials. */
export const MAX_LIVE_SECRETS = 10
export const MAX_USAGE_DAYS = 366
export const DEFAULT_USAGE_DAYS = 30

/** Each visible final assistant response costs one unit, once. */
export const USAGE_UNIT = 'agent_response_processed'

const AGENT_KEY_PATTERN = '^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$'

const Name = trimmedText('Name of the application.', MAX_APPLICATION_NAME)

/** A change of any settings. `conversationAccess` is replaced as a whole. Unknown members are refused. */
export const SettingsChange = named(
  'AgentSettingsChange',
  Type.Partial(
    Type.Object({
      ...settingsMembers,
      conversationAccess: Type.Object(
        {
          type: oneOf(
            ['workspace', 'restricted'],
            '`workspace`: everybody of the organization; `restricted`: the users in `userIds`.',
          ),
          userIds: Type.Optional(
            Type.Array(uuid('Id of a member of the organization.'), {
              maxItems: 1000,
              description:
                'Only with `restricted`, and then required: at most 1000 members of the organization.',
            }),
          ),
        },
        {
          additionalProperties: false,
          description: 'Who may read the conversations. It is replaced as a whole.',
          documented: {
            oneOf: [
              {
                title: 'Everybody',
                required: ['type'],
                properties: { type: { const: 'workspace' }, userIds: false },
              },
              {
                title: 'Listed users',
                required: ['type', 'userIds'],
                properties: { type: { const: 'restricted' } },
              },
            ],
          },
        },
      ),
    }),
    { additionalProperties: false, description: 'Settings to change; others stay as they are.' },
  ),
)
export type SettingsChange = Static<typeof SettingsChange>

export const CreateApplication = Type.Object(
  {
    agentKey: Type.String({
      pattern: AGENT_KEY_PATTERN,
      words: 'at most 128 letters, digits, dots, underscores and hyphens that begin with a letter or digit',
      description:
        'The stable key that ingest requests name: unique in the organization, never changed. At most 128 letters, digits, ' +
        'dots, underscores and hyphens that begin with a letter or digit.',
    }),
    name: Name,
    settings: Type.Optional(SettingsChange),
  },
  { additionalProperties: false },
)
export type CreateApplication = Static<typeof CreateApplication>

export const UpdateApplication = Type.Object(
  { name: Type.Optional(Name), settings: Type.Optional(SettingsChange) },
  { additionalProperties: false },
)
export type UpdateApplication = Static<typeof UpdateApplication>

export const Application = named(
  'AgentApplication',
  Type.Object({
    id: uuid('Id of the application.'),
    agentKey: Type.String({ description: 'The stable key that ingest requests name.' }),
    name: Type.String({ description: `Name of the application: 1 to ${MAX_APPLICATION_NAME} characters.` }),
    settingsVersion: Type.Integer({
      minimum: 1,
      description: 'Version of the settings. It rises by one with every change of them.',
    }),
    settings: AgentSettings,
    createdAt,
    updatedAt,
  }),
)
export type Application = Omit<Static<typeof Application>, 'createdAt' | 'updatedAt'> & {
  readonly createdAt: Date
  readonly updatedAt: Date
}

export const ApplicationQuery = Type.Object({
  agentKey: Type.Optional(Type.String({ description: 'The whole key of an application, by case.' })),
  ...pageQuery(100, 20),
})

const secretMembers = {
  id: uuid('Id of the secret.'),
  prefix: Type.String({ description: 'The first characters of the secret.' }),
  createdAt,
}

export const NewSecret = named(
  'NewAgentSecret',
  Type.Object({
    ...secretMembers,
    secret: Type.String({ description: 'The value of `X-Service-Agent-Key`. It is shown this once.' }),
  }),
)

export const SecretList = Type.Object({
  data: Type.Array(
    named(
      'AgentSecret',
      Type.Object({
        ...secretMembers,
        lastUsedAt: orNull(moment('A moment.'), 'When the secret was used last, in UTC; null: never.'),
        revokedAt: orNull(moment('A moment.'), 'When the secret was revoked, in UTC; null: it is good.'),
      }),
    ),
    { description: 'Every secret of the application, oldest first.' },
  ),
})

export const UsageQuery = Type.Object({
  since: Type.Optional(
    momentParameter(`From this moment; ${DEFAULT_USAGE_DAYS} days before \`until\` unless given.`),
  ),
  until: Type.Optional(momentParameter('Before this moment; now unless given.')),
})

export const Usage = named(
  'AgentUsage',
  Type.Object({
    unit: Type.Literal(USAGE_UNIT, { description: 'What is counted.' }),
    total: count('Units of the whole period.'),
    from: moment('Beginning of the period, in UTC.'),
    until: moment('End of the period, in UTC; it does not belong to it.'),
    days: Type.Array(
      Type.Object({
        date: Type.String({ format: 'date', description: 'The day, in UTC.' }),
        count: count('Units of the day.'),
      }),
      { description: 'Every day (UTC) that the period touches, also those without usage.' },
    ),
  }),
)

/** In code points. */
const MAX_PREVIEW = 20_000

export const PreviewRedaction = Type.Object(
  {
    redactedFields: Type.Optional(settingsMembers.redactedFields),
    redactedPatterns: Type.Optional(settingsMembers.redactedPatterns),
    text: text(
      `A text as a customer or an agent could write it, or JSON: at most ${MAX_PREVIEW} characters.`,
      {
        maxLength: MAX_PREVIEW,
      },
    ),
  },
  { additionalProperties: false },
)

export const RedactionPreview = named(
  'RedactionPreview',
  Type.Object({ text: Type.String({ description: 'The text as it would be stored.' }) }),
)
