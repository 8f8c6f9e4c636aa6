/**
 * Settings of an agent application, applied before storage and hashing (specification, "Application settings").
 * A stored version is never changed: a new version is written beside it.
 */
import { type Static, Type } from '@sinclair/typebox'
import { BOUNDARIES, oneOf } from './model.ts'

export const MAX_RETENTION_DAYS = 3650

const Pattern = Type.String({ minLength: 1, maxLength: 1000 })

/** Said of both redaction settings: ids tell events and people apart, and two that became one could not be told apart. */
const KEPT =
  'Ids stay as they are, those of participants too: an id should be none that tells who somebody is.'

export const AgentSettings = Type.Object({
  /** false: ids, order, types, times, model and usage are kept; content, comments and names are dropped. */
  captureContent: Type.Boolean(),
  /** The `boundary` of participants that name none. */
  participantType: oneOf(BOUNDARIES),
  /** Empty: every environment, also none, is accepted. */
  allowedEnvironments: Type.Array(Type.String({ minLength: 1, maxLength: 512 }), { maxItems: 100 }),
  retentionDays: Type.Union([Type.Integer({ minimum: 1, maximum: MAX_RETENTION_DAYS }), Type.Null()]),
  redactedFields: Type.Array(Type.String({ minLength: 1, maxLength: 255 }), {
    maxItems: 200,
    description: `Names of members whose values are redacted wherever they stand, in upper or lower case, in JSON within texts as well. ${KEPT}`,
  }),
  redactedPatterns: Type.Array(Pattern, {
    maxItems: 100,
    description: `RE2 patterns; every match in any text is redacted, names of members included. ${KEPT}`,
  }),
  /** Who may read the conversations: everybody of the organization, or these users. */
  conversationAccess: Type.Union([
    Type.Object({ type: Type.Literal('workspace') }),
    Type.Object({ type: Type.Literal('restricted'), userIds: Type.Array(Type.String(), { maxItems: 1000 }) }),
  ]),
  /** Idle seconds after which the gaps of an open session are declared permanent. */
  gapTimeoutSeconds: Type.Integer({ minimum: 60, maximum: 31_536_000 }),
})
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
