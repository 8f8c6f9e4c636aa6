/** Removes the organization of the demo: first its files, then its rows. */
import { createCall } from '../demo-data/client.ts'
import type { OwnService } from './demo-service.ts'
import { hasWorkers, runNow, waitUntilIdle } from './demo-wait.ts'

const PAGE = 100

/** Can be repeated after an interruption. */
export async function removeFrom(
  own: OwnService,
  organizationId: string,
  signal: AbortSignal,
): Promise<void> {
  const { identity, url } = own
  // A worker that encodes media would write files of a recording that is gone.
  if (await hasWorkers(own)) await waitUntilIdle(own, organizationId, () => {}, signal)
  const { apiKey } = await identity.createApiKey(organizationId, 'earshot demo --remove')
  const call = createCall(url, { 'x-service-api-key': apiKey }, signal)
  for (;;) {
    const { data } = await call<{ data: readonly { id: string }[] }>(
      'GET',
      `/v3/rest/recordings?limit=${PAGE}`,
    )
    for (const { id } of data) await call('DELETE', `/v3/rest/recordings/${id}`)
    if (data.length < PAGE) break
  }
  await runNow(own, ['media_garbage', 'upload_garbage'], signal)
  await identity.eraseDemoOrganization(organizationId)
}
