/** Tasks of the counts of use. */
import type { MaintenanceTask } from '../../actors/types.ts'
import type { Deps } from '../../kernel/deps.ts'
import { foldUsage } from './fold.ts'
import { nearQuotas } from './service.ts'

const FOLD_EVERY_SECONDS = 2

const WARN_EVERY_SECONDS = 300

export function quotaMaintenance(deps: Pick<Deps, 'sql' | 'config' | 'log'>): readonly MaintenanceTask[] {
  const { sql } = deps
  return [
    { name: 'quota_warnings', everySeconds: WARN_EVERY_SECONDS, run: createWarnings(deps) },
    {
      name: 'fold_usage',
      everySeconds: FOLD_EVERY_SECONDS,
      run: async (stopping) => void (await foldUsage(sql, stopping)),
    },
  ]
}

/** Logs an organization once when it reaches 80 % of a quota, and once when it reaches all of it. */
function createWarnings({ sql, config, log }: Pick<Deps, 'sql' | 'config' | 'log'>): () => Promise<void> {
  let warned = new Set<string>()
  return async () => {
    const near = await nearQuotas(sql, config)
    const now = new Set<string>()
    for (const { organizationId, metric, used, limit } of near) {
      const isFull = used >= limit
      const key = `${organizationId} ${metric} ${isFull}`
      now.add(key)
      if (!warned.has(key))
        log.warn(
          { organizationId, metric, used, limit },
          isFull ? 'a quota is used up' : 'a quota is nearly used up',
        )
    }
    warned = now
  }
}
