/**
 * The HTTP interface of the service within a command, on a free port of the loopback interface: the demo is sent like the
 * data of any client, whether the service runs or not. It has no limits by the minute, and ends with the command.
 */
import { createApp } from '../app/app.ts'
import { createFeatures, type Features } from '../app/features.ts'
import { SETTING_GROUPS } from '../app/settings/table.ts'
import type { Input } from './command.ts'
import { type Services, withServices } from './services.ts'

export interface OwnService extends Services {
  readonly url: string
  readonly features: Features
}

/** Opens everything, runs `work`, and closes everything. */
export function withOwnService<T>(
  { env }: Pick<Input, 'env'>,
  work: (own: OwnService) => Promise<T>,
): Promise<T> {
  const limits = Object.values(SETTING_GROUPS).flatMap((group) =>
    Object.keys(group).filter((name) => name.startsWith('RATE_LIMIT_')),
  )
  const unlimited = Object.fromEntries(limits.map((name) => [name, '0']))
  // Without a public address the URLs of uploads lead to this process.
  return withServices({ env: { ...env, ...unlimited, PUBLIC_BASE_URL: undefined } }, async (services) => {
    const { container } = services
    const features = createFeatures(container)
    const app = createApp(container, { features }).listen({ hostname: '127.0.0.1', port: 0 })
    try {
      return await work({ ...services, features, url: `http://127.0.0.1:${app.server?.port}` })
    } finally {
      await features.uploadReceiver.stop()
      await features.tools.stop()
      await features.eventStream.stop()
      await app.stop(true)
      await features.readLog.close()
    }
  })
}
