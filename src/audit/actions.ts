/** The closed list of what the audit log records. The word before the point is the kind of the object. */
export const CHANGES = [
  'member.created',
  'member.updated',
  'member.deleted',
  'member.tokens_revoked',
  'api_key.created',
  'api_key.updated',
  'api_key.deleted',
  'user_token.created',
  'user_token.updated',
  'user_token.deleted',
  'credits.added',
  'credits.set',
  'actor_message.retried',
  'actor_message.skipped',
  'organization.updated',
  'agent_application.created',
  'agent_application.updated',
  'agent_application.deleted',
  'agent_secret.created',
  'agent_secret.deleted',
  'publishable_key.created',
  'publishable_key.deleted',
  'agent_session.deleted',
  'feedback_source.created',
  'feedback_source.updated',
  'feedback_source.deleted',
  'feedback_record.deleted',
  'feedback_import.started',
  'feedback_import.cancelled',
  'metadata_source.created',
  'metadata_source.updated',
  'metadata_field.created',
  'metadata_field.updated',
  'person.erased',
  'person.merged',
  'recording.deleted',
  'signal.judged',
  'folder.deleted',
  'coding_session.deleted',
  'theme.updated',
  'theme.merged',
  'theme.split',
  'theme_item.moved',
  'webhook.created',
  'webhook.updated',
  'webhook.deleted',
  'webhook.secret_rotated',
] as const

/** Reads of personal content by users. */
export const READS = [
  'agent_session.read',
  'agent_session.listed',
  'feedback_record.read',
  'feedback_record.listed',
  'person.read',
  'person.listed',
  'recording.read',
  'recording.listed',
  'transcript.read',
  'coding_session.read',
  'coding_session.listed',
  'insight.read',
  'search.listed',
  'theme.listed',
  'theme.read',
  'audit.listed',
] as const

export type Change = (typeof CHANGES)[number]
export type Read = (typeof READS)[number]
export type Action = Change | Read

export const ACTIONS: readonly Action[] = [...CHANGES, ...READS]

export const objectKindOf = (action: Action): string => action.slice(0, action.indexOf('.'))
