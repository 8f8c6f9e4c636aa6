/** Stable error codes of the API as sentences that say what to do. Pure. */
import type { Problem, Schemas } from './api.ts'

/** `unreachable` is the console's own. */
type Code = Schemas['Error']['code'] | 'unreachable'

const SENTENCES: Readonly<Partial<Record<Code, string>>> = {
  unreachable: 'The service cannot be reached. Nothing was changed; try again.',
  rate_limited: 'Too many requests. Wait a minute and try again.',
  role_required: 'Only administrators may do this. Your role may have changed.',
  validation_failed: 'Something is not right yet:',
  name_exists: 'This name is taken. Choose another one.',
  not_empty: 'The agent still has conversations. Delete them first, or let them expire by its retention.',
  agent_application_not_found: 'This agent was deleted meanwhile. Reload the page.',
  agent_secret_not_found: 'This secret is gone. Reload the page.',
  api_key_not_found: 'This key is gone. Reload the page.',
  member_exists: 'This person is already a member.',
  member_not_found: 'This person is not a member any more. Reload the page.',
  last_administrator: 'The organization needs an administrator. Make another member one first.',
  user_token_not_found: 'This token is gone. Reload the page.',
  external_token_issuer: 'An OpenID Connect provider makes the tokens of this service. Get one there.',
  url_not_allowed: 'Webhooks go to public addresses. The operator can allow others with OUTBOUND_ALLOW.',
  too_many_webhooks: 'The organization has reached its limit of webhooks. Delete one first.',
  webhook_not_found: 'This webhook was deleted meanwhile.',
  webhook_disabled: 'The webhook is switched off. Switch it on first.',
  webhook_delivery_under_way: 'This event is on its way already. Wait for the attempt.',
  webhook_recovery_active: 'Missed events are being sent already.',
  source_read_only: 'An integration manages this source. It cannot be changed here.',
  request_too_costly: 'These patterns take too much work. Use fewer or simpler ones, or a shorter text.',
}

/** At least one sentence. Codes without own words keep the message of the service. */
export function sentencesOf({ code, message, details }: Problem): readonly string[] {
  const places = details.map((one) => `${one.path}: ${one.message}`)
  return [(SENTENCES as Readonly<Record<string, string>>)[code] ?? message, ...places]
}
