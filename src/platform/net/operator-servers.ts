/** How servers are reached that the operator's settings name. */
import type { OutboundOptions } from './outbound-request.ts'
import { allowLocalNames, type OutboundPolicy } from './outbound-url.ts'
import { createSystemResolve } from './resolve.ts'

/** Their names are those of the machine and its network, resolved as the machine does. `policy` judges their addresses like all others. */
export const toOperatorServers = (policy: OutboundPolicy): Required<OutboundOptions> => ({
  policy: allowLocalNames(policy),
  resolve: createSystemResolve(),
})
