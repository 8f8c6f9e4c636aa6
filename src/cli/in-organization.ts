/** The frame of most commands: open the services, find the organization, run. Loads other modules only when called. */
import type { Organization } from '../access/identity/service.ts'
import type { Flag, Input } from './command.ts'
import type { Services } from './services.ts'

/** The flag that `inOrganization` reads. */
export const ORG_FLAG: Readonly<Record<'org', Flag>> = {
  org: { value: 'id or name', summary: 'the organization; optional if there is only one' },
}

/** Runs `work` on the organization of `--org`, or on the only one. @throws UsageError if there are several */
export async function inOrganization<T>(
  input: Input,
  work: (services: Services, organization: Organization) => Promise<T>,
): Promise<T> {
  const { organizationOf, withServices } = await import('./services.ts')
  return withServices(input, async (services) => work(services, await organizationOf(services, input)))
}
