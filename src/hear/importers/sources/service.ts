/** Use cases of import sources. The routes use them. */

import { lockOrganization } from '../../../access/identity/organizations.ts'
import { transactionWithOutbox } from '../../../actors/mailbox.ts'
import type { Config } from '../../../kernel/config.ts'
import type { Deps } from '../../../kernel/deps.ts'
import { importSourceMessages } from '../../../kernel/messages/import-source.ts'
import type { Alongside } from '../../../platform/db/alongside.ts'
import { transaction } from '../../../platform/db/transaction.ts'
import { AppError } from '../../../platform/errors.ts'
import { createSeal, type Seal } from '../../../platform/secrets/seal.ts'
import { DATE_TIME } from '../../../platform/validation/formats.ts'
import { invalid } from '../../../platform/validation/json.ts'
import { toUtc } from '../../../platform/validation/rfc3339.ts'
import { trimEndOf } from '../../../platform/validation/trim.ts'
import { providerOf } from '../providers/all.ts'
import { type CreateImportSource, DEFAULT_DAYS, DEFAULT_MINUTES, MAX_SOURCES } from './model.ts'
import * as store from './store.ts'

export type { SourceRow } from './store.ts'
export type ImportSources = ReturnType<typeof createImportSources>

/** Seals secrets for the database. The context is the id of the source. */
export function createSourceSeal(config: Pick<Config, 'dataDir' | 'secretKey'>): Seal {
  return createSeal(config, 'import-sources', 'import source secrets')
}

type SourcesDeps = Pick<
  Deps,
  'sql' | 'reads' | 'notifier' | 'newId' | 'clock' | 'log' | 'outbound' | 'config'
>

const DAY_MS = 24 * 60 * 60_000

export function createImportSources(deps: SourcesDeps) {
  const { reads, newId, outbound, clock } = deps
  const seal = createSourceSeal(deps.config)
  const read = (organizationId: string, id: string) =>
    importSourceMessages.message(id, 'read', { organizationId })

  return {
    /** The first look begins at once. @throws AppError 400; 409 `too_many_import_sources` */
    async create(
      organizationId: string,
      applicationId: string,
      { provider, url, account, secret, since, environment, everyMinutes }: CreateImportSource,
      also?: Alongside<store.SourceRow>,
    ): Promise<store.SourceRow> {
      const id = newId()
      checkAccount(provider, account)
      const source = {
        id,
        organizationId,
        applicationId,
        provider,
        url: baseOf(outbound.assertUrl(url, 'url')),
        account: account ?? null,
        secret: await seal.seal(secret, id),
        environment: environment ?? null,
        since: since === undefined ? new Date(clock.now().getTime() - DEFAULT_DAYS * DAY_MS) : instant(since),
        everyMinutes: everyMinutes ?? DEFAULT_MINUTES,
      }
      const created = await transactionWithOutbox(deps, async (tx, outbox) => {
        await lockOrganization(tx, organizationId)
        if ((await store.countSources(tx, organizationId)) >= MAX_SOURCES)
          throw new AppError(
            'too_many_import_sources',
            `An organization has at most ${MAX_SOURCES} import sources.`,
          )
        await store.insertSource(tx, source)
        const inserted = (await store.findSource(tx, source, applicationId)) ?? noSource()
        await also?.(tx, inserted)
        await outbox.send([read(organizationId, id)])
        return inserted
      })
      deps.log.info({ organizationId, sourceId: id, provider }, 'import source created')
      return created
    },

    /** @throws AppError 404 */
    async get(organizationId: string, applicationId: string, id: string): Promise<store.SourceRow> {
      return (await store.findSource(reads, { organizationId, id }, applicationId)) ?? noSource()
    },

    list: (organizationId: string, applicationId: string) =>
      store.listSources(reads, organizationId, applicationId),

    /** What was imported stays. @throws AppError 404 */
    async remove(
      organizationId: string,
      applicationId: string,
      id: string,
      also?: Alongside<string>,
    ): Promise<void> {
      await transaction(deps.sql, async (tx) => {
        if (!(await store.deleteSource(tx, { organizationId, id }, applicationId))) noSource()
        await also?.(tx, id)
      })
      deps.log.info({ organizationId, sourceId: id }, 'import source deleted')
    },

    /** Looks for changed conversations now, or when a pause ends that the provider asked for. @throws AppError 404 */
    async run(
      organizationId: string,
      applicationId: string,
      id: string,
      also?: Alongside<store.SourceRow>,
    ): Promise<store.SourceRow> {
      return transactionWithOutbox(deps, async (tx, outbox) => {
        const ref = { organizationId, id }
        if (!(await store.hastenSource(tx, ref, applicationId))) noSource()
        const row = (await store.findSource(tx, ref, applicationId)) ?? noSource()
        await also?.(tx, row)
        await outbox.sendUnlessWaiting([read(organizationId, id)])
        return row
      })
    },
  }
}

/** @throws AppError 400 if the provider needs an account of another form, or none */
function checkAccount(provider: string, account: string | undefined): void {
  const { isRequired, isAllowed, pattern } = providerOf(provider).account
  const message =
    account === undefined
      ? isRequired && `is required for ${provider}`
      : !isAllowed
        ? `is not allowed for ${provider}, whose secret is enough`
        : pattern !== null && !pattern.test(account) && 'must be the number of the account'
  if (message === false) return
  throw invalid([{ path: 'account', code: account === undefined ? 'required' : 'not_allowed', message }])
}

/** Scheme, host, port and path, without a slash at the end. */
function baseOf({ origin, pathname }: URL): string {
  return trimEndOf(`${origin}${pathname}`, '/')
}

function instant(since: string): Date {
  const utc = toUtc(since)
  if (utc !== null) return new Date(utc)
  const message = `must be ${DATE_TIME}`
  throw invalid([{ path: 'since', code: 'date_time', message }])
}

function noSource(): never {
  throw new AppError('import_source_not_found', 'There is no such import source.')
}
