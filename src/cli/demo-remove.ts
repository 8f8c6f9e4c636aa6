/** Removes the organization of the demo as `earshot org delete` does, and waits for the end. */
import { setTimeout as pause } from 'node:timers/promises'
import { createOrganizationDeletion } from '../app/organization-erasure.ts'
import type { OwnService } from './demo-service.ts'
import { runNow } from './demo-wait.ts'

const PAUSE_MS = 200

/** The own process erases, too, so that it works without a service. Can be repeated after an interruption. */
export async function removeFrom(
  own: OwnService,
  { id, name }: { readonly id: string; readonly name: string },
  signal: AbortSignal,
): Promise<void> {
  const { container, identity } = own
  const isErased = async () => (await identity.listErasedOrganizations()).some((one) => one.id === id)
  if (!(await isErased()))
    await createOrganizationDeletion({ ...container, forget: identity.forgetUser }).begin(id, name)
  for (;;) {
    await runNow(own, ['organization_erasure'], signal)
    if (!(await isErased())) return
    await pause(PAUSE_MS, undefined, { signal })
  }
}
