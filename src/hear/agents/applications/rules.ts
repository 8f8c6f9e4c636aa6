/** Pure rules of the administration of applications: names, changes of settings, periods of usage reports. */
import type { ErrorDetail } from '../../../platform/errors.ts'
import { isUuid } from '../../../platform/ids.ts'
import type { Period } from '../model.ts'
import type { AgentSettings } from '../settings.ts'
import { MAX_APPLICATION_NAME, MAX_USAGE_DAYS, type SettingsChange } from './model.ts'

export type Outcome<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly findings: readonly ErrorDetail[] }

const refused = (findings: readonly ErrorDetail[]) => ({ ok: false, findings }) as const

/** The name to store: trimmed, 1 to 255 code points. */
export function checkName(name: string): Outcome<string> {
  const value = name.trim()
  const length = [...value].length
  if (length >= 1 && length <= MAX_APPLICATION_NAME) return { ok: true, value }
  const message = `must have 1 to ${MAX_APPLICATION_NAME} characters after trimming`
  return refused([{ path: 'name', code: 'length', message }])
}

/**
 * The present settings with the members of the change.
 * @param patternFindings errors of the redaction patterns (see redaction.ts)
 */
export function changeSettings(
  present: AgentSettings,
  change: SettingsChange,
  patternFindings: readonly ErrorDetail[],
): Outcome<AgentSettings> {
  const { conversationAccess, ...plain } = change
  const findings = patternFindings.map((finding) => ({
    ...finding,
    path: `settings.${finding.path}`,
  }))
  const access =
    conversationAccess === undefined
      ? ({ ok: true, value: present.conversationAccess } as const)
      : checkAccess(conversationAccess)
  if (!access.ok) return refused([...findings, ...access.findings])
  if (findings.length > 0) return refused(findings)
  return { ok: true, value: { ...present, ...plain, conversationAccess: access.value } }
}

function checkAccess(
  access: NonNullable<SettingsChange['conversationAccess']>,
): Outcome<AgentSettings['conversationAccess']> {
  const path = 'settings.conversationAccess.userIds'
  const { type, userIds } = access
  if (type === 'workspace') {
    if (userIds === undefined) return { ok: true, value: { type } }
    return refused([{ path, code: 'not_allowed', message: 'is only for the type "restricted"' }])
  }
  if (userIds === undefined)
    return refused([{ path, code: 'required', message: 'is required for the type "restricted"' }])
  const findings = userIds.flatMap((id, index): ErrorDetail[] =>
    isUuid(id) ? [] : [{ path: `${path}[${index}]`, code: 'uuid', message: 'must be a UUID' }],
  )
  if (findings.length > 0) return refused(findings)
  return { ok: true, value: { type, userIds: [...new Set(userIds.map((id) => id.toLowerCase()))] } }
}

/** One finding for each listed user that is not a member of the organization. */
export function strangers(settings: AgentSettings, members: ReadonlySet<string>): readonly ErrorDetail[] {
  const access = settings.conversationAccess
  if (access.type === 'workspace') return []
  return access.userIds.flatMap((id, index) =>
    members.has(id)
      ? []
      : [
          {
            path: `settings.conversationAccess.userIds[${index}]`,
            code: 'not_a_member',
            message: 'is not a member of the organization',
          },
        ],
  )
}

const DAY = 86_400_000

/** The period of a usage report. */
export function usagePeriod(
  { since, until }: Period,
  now: Date,
  defaultDays: number,
): Outcome<{ readonly from: Date; readonly until: Date }> {
  const end = until === undefined ? now : new Date(until)
  const from = since === undefined ? new Date(end.getTime() - defaultDays * DAY) : new Date(since)
  const refuse = (message: string) => refused([{ path: 'since', code: 'range', message }])
  if (from >= end) return refuse('must be before until')
  if (end.getTime() - from.getTime() > MAX_USAGE_DAYS * DAY)
    return refuse(`must be at most ${MAX_USAGE_DAYS} days before until`)
  return { ok: true, value: { from, until: end } }
}
