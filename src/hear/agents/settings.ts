/**
 * Settings of an agent application, applied before storage and hashing (specification, "Application settings").
 * A stored version is never changed: a new version is written beside it.
 */
import { type Static, Type } from '@sinclair/typebox'
import { named, oneOf, orNull, text, uuid } from '../../platform/validation/schema.ts'
import { BOUNDARIES } from './model.ts'

const MAX_RETENTION_DAYS = 3650

const Pattern = text('An RE2 pattern: 1 to 1000 characters.', {
  minLength: 1,
  maxLength: 1000,
  documented: { format: 'regex' },
})

/** Part of the description of both redaction settings. Redacted ids could become equal, and then events or people would be mixed up. */
const KEPT =
  'Ids stay unchanged, including those of participants, so an id should not reveal who a person is.'

const userIds = Type.Array(uuid('Id of a member of the organization.'), {
  maxItems: 1000,
  description: 'The users who may: at most 1000 members of the organization.',
})

export const settingsMembers = {
  captureContent: Type.Boolean({
    description:
      '`false`: ids, order, types, times, model and usage are kept; content, comments and names are dropped.',
  }),
  participantType: oneOf(BOUNDARIES, 'The `boundary` of participants that name none.'),
  allowedEnvironments: Type.Array(
    text('Name of an environment: 1 to 512 characters.', { minLength: 1, maxLength: 512 }),
    {
      maxItems: 100,
      description: 'Environments that may send: at most 100. Empty: every environment may, also none.',
    },
  ),
  retentionDays: orNull(
    Type.Integer({ minimum: 1, maximum: MAX_RETENTION_DAYS }),
    `Days after which conversations are deleted: 1 to ${MAX_RETENTION_DAYS}, or null for never.`,
  ),
  redactedFields: Type.Array(
    text('Name of a member: 1 to 255 characters.', { minLength: 1, maxLength: 255 }),
    {
      maxItems: 200,
      description: `Names of members whose values are redacted wherever they stand, in upper or lower case, in JSON within texts as well: at most 200. ${KEPT}`,
    },
  ),
  redactedPatterns: Type.Array(Pattern, {
    maxItems: 100,
    description: `RE2 patterns: at most 100. Every match in any text is redacted, names of members included. ${KEPT}`,
  }),
  conversationAccess: Type.Union(
    [
      Type.Object({ type: Type.Literal('workspace', { description: 'Everybody of the organization.' }) }),
      Type.Object({ type: Type.Literal('restricted', { description: 'The listed users.' }), userIds }),
    ],
    { description: 'Who may read the conversations.' },
  ),
  gapTimeoutSeconds: Type.Integer({
    minimum: 60,
    maximum: 31_536_000,
    description:
      'Idle seconds after which the gaps of an open session are declared permanent: 60 to 31536000.',
  }),
}

export const AgentSettings = named(
  'AgentSettings',
  Type.Object(settingsMembers, { description: 'How conversations of the application are kept.' }),
)
export type AgentSettings = Static<typeof AgentSettings>

export const DEFAULT_SETTINGS: AgentSettings = {
  captureContent: true,
  participantType: 'external',
  allowedEnvironments: [],
  retentionDays: null,
  redactedFields: [],
  redactedPatterns: [],
  conversationAccess: { type: 'workspace' },
  gapTimeoutSeconds: 86_400,
}
