/**
 * From a request to what would be stored of it, under one version of the application's settings. Pure.
 */

import { type PreparedEvent, prepareEvent } from './fingerprint.ts'
import type { IngestRequest } from './model.ts'
import { compileRedaction, type Redactor } from './redaction.ts'
import { type SanitizedSession, sanitizeEvent, sanitizeSession } from './sanitize.ts'
import type { AgentSettings } from './settings.ts'

/** One immutable version of an application's settings, with its redaction rules compiled. */
export interface SettingsVersion {
  readonly version: number
  readonly settings: AgentSettings
  readonly redactor: Redactor
}

export interface PreparedRequest {
  readonly request: IngestRequest
  readonly session: SanitizedSession
  /** In request order. */
  readonly events: readonly PreparedEvent[]
}

/** Sanitises, serialises and hashes a request that passed `checkRequest`. */
export function prepare(request: IngestRequest, under: SettingsVersion): PreparedRequest {
  return {
    request,
    session: sanitizeSession(request, under.settings, under.redactor),
    events: request.events.map((event) => prepareEvent(sanitizeEvent(event, under.settings, under.redactor))),
  }
}

/** The fingerprint of one event as another settings version would have sanitised it. */
export function fingerprintUnder(
  request: IngestRequest,
  index: number,
  under: SettingsVersion,
): Uint8Array | null {
  const event = request.events[index]
  return event === undefined
    ? null
    : prepareEvent(sanitizeEvent(event, under.settings, under.redactor)).fingerprint
}

/** Compiling patterns is the expensive part, so compiled versions are kept; they never change once stored. */
export interface SettingsVersions {
  get(applicationId: string, version: number, settings: AgentSettings): SettingsVersion
}

const CAPACITY = 1_000

/** Keeps the most recently used versions of all applications of this process. */
export function createSettingsVersions(): SettingsVersions {
  const kept = new Map<string, SettingsVersion>()
  return {
    get(applicationId, version, settings) {
      const key = `${applicationId} ${version}`
      const known = kept.get(key) ?? { version, settings, redactor: compileRedaction(settings) }
      kept.delete(key)
      kept.set(key, known)
      if (kept.size > CAPACITY) kept.delete(kept.keys().next().value as string)
      return known
    },
  }
}
