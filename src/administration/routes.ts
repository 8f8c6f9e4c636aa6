/** Everything that administrators do with API keys, credits and actors. Members are in `src/identity`. */
import type { Deps } from '../container.ts'
import type { Operation } from '../http/operation.ts'
import type { Identity } from '../identity/service.ts'
import { actorOperations } from './actor-routes.ts'
import { apiKeyOperations } from './api-key-routes.ts'
import { creditOperations } from './credit-routes.ts'

export function administrationOperations(
  deps: Pick<Deps, 'sql' | 'reads' | 'notifier'>,
  identity: Identity,
): readonly Operation[] {
  return [...apiKeyOperations(identity), ...creditOperations(identity), ...actorOperations(deps)]
}
