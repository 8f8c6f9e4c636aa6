/** Whether webhooks can be signed, for `/ready` and for `earshot doctor`. */
import type { Config } from '../../kernel/config.ts'
import { cachedFor } from '../../platform/concurrency/cached.ts'
import { withTimeout } from '../../platform/concurrency/timeout.ts'
import type { Query } from '../../platform/db/pool.ts'
import type { Seal } from '../../platform/secrets/seal.ts'
import { openSecrets } from './attempt.ts'
import { enabledSecrets } from './gauges.store.ts'
import { createSecretSeal } from './signing.ts'

/** Enough to tell lost keys, which concern every secret that is older. */
const EXAMINED = 200
const EVERY_MS = 60_000
/** Less than a probe waits for a part. */
const BUDGET_MS = 1_000

export async function examineWebhooks(
  query: Query,
  config: Pick<Config, 'dataDir' | 'secretKey'>,
): Promise<{ readonly ok: boolean; readonly detail: string }> {
  const { enabled, unreadable } = await countUnreadable(query, createSecretSeal(config))
  if (unreadable === 0) return { ok: true, detail: `${enabled} can be signed` }
  return {
    ok: false,
    detail: `${unreadable} of ${enabled} cannot be signed, because SECRET_KEY or DATA_DIR/keys has changed. Restore the key, or make a new secret for each webhook`,
  }
}

/** A part of the service (see `platform/observability/degraded.ts`). The answer is up to a minute old. */
export function webhooksPart(query: Query, config: Pick<Config, 'dataDir' | 'secretKey'>) {
  const seal = createSecretSeal(config)
  return {
    name: 'webhooks',
    effect:
      'Webhooks cannot be signed, because SECRET_KEY or DATA_DIR/keys has changed: their events are kept and not sent. Everything else works.',
    ask: cachedFor(EVERY_MS, async () => {
      // A database that does not answer is reported as such.
      const late = () => new Error('the database did not answer')
      const found = await withTimeout(countUnreadable(query, seal), BUDGET_MS, late).catch(() => null)
      if (found !== null && found.unreadable > 0)
        throw new Error(`the secrets of ${found.unreadable} of ${found.enabled} webhooks cannot be opened`)
    }),
  } as const
}

async function countUnreadable(query: Query, seal: Seal) {
  const secrets = await enabledSecrets(query, EXAMINED)
  const opened = await Promise.all(secrets.map((one) => openSecrets(seal, { ...one, previousSecret: null })))
  return { enabled: secrets.length, unreadable: opened.filter((one) => one === null).length }
}
