/** Whether mail can be sent, for `/ready` and for `earshot doctor`. */
import type { Config } from '../../config.ts'
import { cachedFor } from '../concurrency/cached.ts'
import { createMailer } from './create.ts'

/** A mail server may refuse clients that connect all the time. */
const EVERY_MS = 60_000
const BUDGET_MS = 1_900

/** Signs in to the mail server. @throws NeedsOperator or another Error if mail cannot be sent */
export async function examineMail(
  config: Pick<Config, 'dataDir' | 'mail'>,
  signal: AbortSignal,
): Promise<{ readonly ok: boolean; readonly detail: string }> {
  const { smtpUrl } = config.mail
  await createMailer(config).assertUsable(signal)
  return {
    ok: true,
    detail: smtpUrl === null ? `files in ${config.dataDir}/mail` : `server ${new URL(smtpUrl).host}`,
  }
}

/** A part of the service (see `platform/observability/degraded.ts`). The answer is up to a minute old. */
export function mailPart(config: Pick<Config, 'dataDir' | 'mail'>) {
  const mailer = createMailer(config)
  return {
    name: 'mail',
    effect: 'Mail cannot be sent and waits. Everything else works.',
    ask: cachedFor(EVERY_MS, () => mailer.assertUsable(AbortSignal.timeout(BUDGET_MS))),
  } as const
}
