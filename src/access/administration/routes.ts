/** Everything that administrators do with API keys, credits, actors and the state of the service. Members are in `src/access/identity`. */

import type { Operation } from '../../http/operation.ts'
import type { Deps } from '../../kernel/deps.ts'
import type { Identity } from '../identity/service.ts'
import { actorOperations } from './actor-routes.ts'
import { apiKeyOperations } from './api-key-routes.ts'
import { creditOperations } from './credit-routes.ts'
import { serviceOperation } from './service-routes.ts'

export function administrationOperations(
  deps: Pick<Deps, 'config' | 'sql' | 'reads' | 'redis' | 'notifier' | 'storage'>,
  identity: Identity,
): readonly Operation[] {
  return [
    ...apiKeyOperations(identity),
    ...creditOperations(identity),
    ...actorOperations(deps),
    serviceOperation(deps),
  ]
}
