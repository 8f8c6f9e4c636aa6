/** Wire shapes of the administration of agent applications. */
import { type Static, Type } from '@sinclair/typebox'
import { pageQuery } from '../http/paging.ts'
import { momentParameter } from '../http/parameters.ts'
import { oneOf } from '../platform/validation/schema.ts'
import { AgentSettings } from './settings.ts'

/** After trimming, in code points. */
export const MAX_APPLICATION_NAME = 255
/** Two serve a rotation; more than these are credentials that somebody forgot. */
export const MAX_LIVE_SECRETS = 10
export const MAX_USAGE_DAYS = 366
export const DEFAULT_USAGE_DAYS = 30

/** `agent_response_processed`: one for each visible finalised assistant response, ever. */
export const USAGE_UNIT = 'agent_response_processed'

const AGENT_KEY_PATTERN = '^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$'

const Uuid = Type.String({ format: 'uuid' })
const Moment = Type.String({ format: 'date-time' })
const Name = Type.String({
  minLength: 1,
  description: `Stored trimmed: 1 to ${MAX_APPLICATION_NAME} characters`,
})

/** Any of the settings; `conversationAccess` is replaced as a whole. A member not listed is refused. */
export const SettingsChange = Type.Partial(
  Type.Object({
    ...AgentSettings.properties,
    conversationAccess: Type.Object(
      {
        type: oneOf(['workspace', 'restricted']),
        userIds: Type.Optional(
          Type.Array(Type.String(), {
            maxItems: 1000,
            description: 'Only with `restricted`: UUIDs of members of the organization',
          }),
        ),
      },
      { additionalProperties: false },
    ),
  }),
  { additionalProperties: false },
)
export type SettingsChange = Static<typeof SettingsChange>

export const CreateApplication = Type.Object(
  {
    agentKey: Type.String({
      pattern: AGENT_KEY_PATTERN,
      words: 'at most 128 letters, digits, dots, underscores and hyphens that begin with a letter or digit',
      description: 'The stable key that ingest requests name; unique in the organization, never changed',
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

export const Application = Type.Object({
  id: Uuid,
  agentKey: Type.String(),
  name: Type.String(),
  settingsVersion: Type.Integer({ description: 'Rises by one with every change of the settings' }),
  settings: AgentSettings,
  createdAt: Moment,
  updatedAt: Moment,
})
export type Application = Omit<Static<typeof Application>, 'createdAt' | 'updatedAt'> & {
  readonly createdAt: Date
  readonly updatedAt: Date
}

export const ApplicationQuery = Type.Object({
  agentKey: Type.Optional(Type.String()),
  ...pageQuery(100, 20),
})

const secretMembers = {
  id: Uuid,
  prefix: Type.String({ description: 'The first characters of the secret' }),
  createdAt: Moment,
}

export const NewSecret = Type.Object({
  ...secretMembers,
  secret: Type.String({ description: 'The value of X-Service-Agent-Key. It is shown this once.' }),
})

export const SecretList = Type.Object({
  data: Type.Array(
    Type.Object({
      ...secretMembers,
      lastUsedAt: Type.Union([Moment, Type.Null()]),
      revokedAt: Type.Union([Moment, Type.Null()]),
    }),
  ),
})

export const UsageQuery = Type.Object({
  since: Type.Optional(
    momentParameter(`From this moment; ${DEFAULT_USAGE_DAYS} days before \`until\` unless given.`),
  ),
  until: Type.Optional(momentParameter('Before this moment; now unless given.')),
})

export const Usage = Type.Object({
  unit: Type.Literal(USAGE_UNIT),
  total: Type.Integer(),
  from: Moment,
  until: Moment,
  days: Type.Array(Type.Object({ date: Type.String({ format: 'date' }), count: Type.Integer() }), {
    description: 'Every day (UTC) that the period touches, also those without usage',
  }),
})
