/**
 * Use cases of administration: applications, their settings, secrets and usage. The routes, the command line and the first start
 * use them.
 *
 * Settings are versioned. A change is decided and written under the lock of the application's row. So two concurrent changes both
 * take effect, each as its own version.
 */

import { membersAmong } from '../../../access/identity/organizations.ts'
import type { Credential, Identity } from '../../../access/identity/service.ts'
import type { Clock } from '../../../platform/clock.ts'
import type { RequestWork } from '../../../platform/concurrency/work.ts'
import { type Alongside, together } from '../../../platform/db/alongside.ts'
import type { TimeSlice } from '../../../platform/db/keyset.ts'
import type { Query, Sql } from '../../../platform/db/pool.ts'
import { transaction } from '../../../platform/db/transaction.ts'
import { AppError, type ErrorDetail } from '../../../platform/errors.ts'
import type { NewId } from '../../../platform/ids.ts'
import type { Log } from '../../../platform/observability/log.ts'
import {
  patternsWork,
  patternUnits,
  previewUnits,
  previewWork,
  type RedactionRules,
} from '../events/redaction.ts'
import type { Period } from '../model.ts'
import { type AgentSettings, DEFAULT_SETTINGS } from '../settings.ts'
import {
  type Application,
  type CreateApplication,
  DEFAULT_USAGE_DAYS,
  MAX_LIVE_SECRETS,
  type SettingsChange,
  type UpdateApplication,
  USAGE_UNIT,
} from './model.ts'
import { changeSettings, checkName, type Outcome, strangers, usagePeriod } from './rules.ts'
import * as store from './store.ts'
import { usageByDay } from './usage.store.ts'

export type Applications = ReturnType<typeof createApplications>

export interface ApplicationsDeps {
  readonly requestWork: RequestWork
  readonly sql: Sql
  readonly reads: Query
  readonly newId: NewId
  readonly clock: Clock
  readonly log: Log
  readonly identity: Pick<Identity, 'createSecret' | 'listSecrets' | 'revokeSecret' | 'forgetSecret'>
}

export function createApplications(deps: ApplicationsDeps) {
  const { reads } = deps
  return {
    /** @throws AppError 400; 409 `name_exists` where the organization has an application with this key */
    create: (organizationId: string, input: CreateApplication, also?: Alongside<Application>) =>
      create(deps, organizationId, input, also),

    /** @throws AppError 404 */
    async get(organizationId: string, id: string): Promise<Application> {
      return (await store.findApplication(reads, organizationId, id)) ?? notFound()
    },

    /** Newest first, at most `limit + 1` rows. */
    list: (organizationId: string, agentKey: string | undefined, slice: TimeSlice) =>
      store.listApplications(reads, organizationId, agentKey, slice),

    /** Changes the name, any of the settings, or both. @throws AppError 404, 400 */
    update: (organizationId: string, id: string, change: UpdateApplication, also?: Alongside<Application>) =>
      update(deps, organizationId, id, change, also),

    /** Takes one query. @throws AppError 404 */
    async loadForIngest(organizationId: string, id: string): Promise<store.IngestApplication> {
      return (await store.findForIngest(deps.sql, organizationId, id)) ?? notFound()
    },

    /** Deletes the application with its settings and secrets. @throws AppError 404; 409 `not_empty` where it has sessions */
    async remove(organizationId: string, id: string, also?: Alongside): Promise<void> {
      const revoked = await transaction(deps.sql, async (tx) => {
        if (!(await store.lockForDeletion(tx, organizationId, id))) notFound()
        const present = await deps.identity.listSecrets(organizationId, id, tx)
        for (const secret of present) await deps.identity.revokeSecret(organizationId, id, secret.id, tx)
        if (!(await store.deleteUnusedApplication(tx, organizationId, id))) {
          const message = 'The application has sessions: delete them first, or let their retention end.'
          throw new AppError('not_empty', message)
        }
        await also?.(tx, id)
        return present
      })
      for (const secret of revoked) deps.identity.forgetSecret(secret.id)
      deps.log.info({ organizationId, applicationId: id }, 'agent application deleted')
    },

    /** The text as ingestion with these rules would store it. Stores nothing. @throws AppError 400 */
    previewRedaction(organizationId: string, text: string, rules: RedactionRules): Promise<string> {
      const load = { caller: organizationId, bytes: text.length, units: previewUnits(rules, text) }
      return deps.requestWork.run(previewWork, { text, ...rules }, load)
    },

    ...secrets(deps),

    /** Metered units by day. The period is the last 30 days unless given. @throws AppError 400 */
    async usage(organizationId: string, id: string, period: Period) {
      const { from, until } = accept(usagePeriod(period, deps.clock.now(), DEFAULT_USAGE_DAYS))
      const days = await usageByDay(reads, organizationId, id, USAGE_UNIT, { from, until })
      const total = days.reduce((sum, day) => sum + day.count, 0)
      return { unit: USAGE_UNIT, total, from, until, days }
    },
  }
}

async function create(
  deps: ApplicationsDeps,
  organizationId: string,
  input: CreateApplication,
  also: Alongside<Application> | undefined,
): Promise<Application> {
  const { sql, newId, log } = deps
  const name = accept(checkName(input.name))
  const change = input.settings ?? {}
  const findings = await patternFindings(deps, organizationId, change)
  const settings = accept(changeSettings(DEFAULT_SETTINGS, change, findings))
  const id = newId()
  const application = await transaction(sql, async (tx) => {
    await refuseStrangers(tx, organizationId, settings)
    const row = { id, organizationId, agentKey: input.agentKey, name, settings }
    if (!(await store.insertApplication(tx, row)))
      throw new AppError('name_exists', `The organization has an application ${input.agentKey} already.`)
    const created = (await store.findApplication(tx, organizationId, id)) ?? notFound()
    await also?.(tx, created)
    return created
  })
  log.info({ organizationId, applicationId: id }, 'agent application created')
  return application
}

/** Checks patterns as request work, because compiling takes time. Runs before the transaction, so that no lock waits for it. */
async function patternFindings(
  { requestWork }: ApplicationsDeps,
  organizationId: string,
  { redactedPatterns = [] }: SettingsChange,
): Promise<readonly ErrorDetail[]> {
  if (redactedPatterns.length === 0) return []
  const bytes = redactedPatterns.reduce((sum, pattern) => sum + pattern.length, 0)
  const load = { caller: organizationId, bytes, units: patternUnits(redactedPatterns) }
  return requestWork.run(patternsWork, redactedPatterns, load)
}

async function update(
  deps: ApplicationsDeps,
  organizationId: string,
  id: string,
  change: UpdateApplication,
  also: Alongside<Application> | undefined,
): Promise<Application> {
  const { sql, log } = deps
  const findings = await patternFindings(deps, organizationId, change.settings ?? {})
  const application = await transaction(sql, async (tx) => {
    if (!(await store.lockApplication(tx, organizationId, id))) notFound()
    const present = (await store.findApplication(tx, organizationId, id)) ?? notFound()
    const name = change.name === undefined ? present.name : accept(checkName(change.name))
    const settings = accept(changeSettings(present.settings, change.settings ?? {}, findings))
    const changed = !Bun.deepEquals(settings, present.settings)
    if (!changed && name === present.name) return present
    const settingsVersion = present.settingsVersion + (changed ? 1 : 0)
    if (changed) {
      await refuseStrangers(tx, organizationId, settings)
      await store.insertSettings(tx, organizationId, id, settingsVersion, settings)
    }
    await store.updateApplication(tx, organizationId, id, { name, settingsVersion })
    const updated = (await store.findApplication(tx, organizationId, id)) ?? notFound()
    await also?.(tx, updated)
    return updated
  })
  log.info(
    { organizationId, applicationId: id, settingsVersion: application.settingsVersion },
    'agent application updated',
  )
  return application
}

function secrets({ sql, identity, log }: ApplicationsDeps) {
  return {
    /** Only this answer contains the secret. @throws AppError 404; 400 where the application has the most live secrets already */
    async createSecret(organizationId: string, applicationId: string, also?: Alongside<Credential>) {
      const created = await transaction(sql, async (tx) => {
        if (!(await store.lockApplication(tx, organizationId, applicationId))) notFound()
        const present = await identity.listSecrets(organizationId, applicationId, tx)
        if (present.filter((secret) => secret.revokedAt === null).length >= MAX_LIVE_SECRETS)
          throw new AppError(
            'validation_failed',
            `The application has ${MAX_LIVE_SECRETS} live secrets. Delete one that is no longer used first.`,
          )
        const secret = await identity.createSecret(organizationId, applicationId, tx)
        await also?.(tx, secret)
        return secret
      })
      log.info({ organizationId, applicationId, secretId: created.id }, 'agent secret created')
      return created
    },

    listSecrets: (organizationId: string, applicationId: string) =>
      identity.listSecrets(organizationId, applicationId),

    /** From now on every process refuses the secret. Revoking again changes nothing. @throws AppError 404 */
    async revokeSecret(
      organizationId: string,
      applicationId: string,
      secretId: string,
      also?: Alongside<void>,
    ): Promise<void> {
      await together(sql, also, (query) =>
        identity.revokeSecret(organizationId, applicationId, secretId, query),
      )
      identity.forgetSecret(secretId)
      log.info({ organizationId, applicationId, secretId }, 'agent secret revoked')
    },
  }
}

async function refuseStrangers(tx: Query, organizationId: string, settings: AgentSettings): Promise<void> {
  const access = settings.conversationAccess
  if (access.type === 'workspace') return
  const findings = strangers(settings, await membersAmong(tx, organizationId, access.userIds))
  if (findings.length > 0) refuse(findings)
}

function accept<T>(outcome: Outcome<T>): T {
  return outcome.ok ? outcome.value : refuse(outcome.findings)
}

function refuse(findings: readonly ErrorDetail[]): never {
  const first = findings[0]
  throw new AppError('validation_failed', `${first?.path}: ${first?.message}`, { details: findings })
}

function notFound(): never {
  throw new AppError('agent_application_not_found', 'There is no such agent application.')
}
