/**
 * Versions of the website API, chosen by the header `API-Version` (specification, "Versioning").
 *
 * A breaking change adds a row to the table and dates to the previous row. A superseded version works until its sunset,
 * at least 90 days later, and announces it in every response: `Deprecation` (RFC 9745), `Sunset` (RFC 8594) and their
 * links. After the sunset it is refused like an unknown version.
 */
import { AppError } from '../platform/errors.ts'

export interface ApiVersion {
  readonly version: string
  readonly released: Date
  /** Absent for the current version. */
  readonly superseded?: {
    readonly deprecated: Date
    readonly sunset: Date
    /** Instructions for migrating: an absolute URL, or a path of this service. */
    readonly guide: string
  }
}

/** Oldest first. The last one is the current version. */
export const API_VERSIONS: readonly ApiVersion[] = [{ version: '1', released: new Date('2026-01-01') }]

const MIN_NOTICE_MS = 90 * 24 * 60 * 60 * 1000

/** The version that answers a request. */
export interface ChosenVersion {
  /** Headers of every response to the request. */
  readonly headers: Readonly<Record<string, string>>
  /** @throws AppError 400 if the requested version is unknown or past its sunset */
  assertSupported(): void
}

/** Chooses by the value of the request header; null: the client requests no version. */
export type ChooseVersion = (pinned: string | null) => ChosenVersion

/** @throws Error if the table has no current version, a duplicate, or less than 90 days of notice */
export function createChooseVersion(
  table: readonly ApiVersion[],
  clock: { readonly now: () => Date },
): ChooseVersion {
  const current = checked(table)
  return (pinned) => {
    const version = pinned === null ? current : table.find((row) => row.version === pinned.trim())
    const sunset = version?.superseded?.sunset
    const supported = version !== undefined && (sunset === undefined || clock.now() < sunset)
    return {
      headers: headersOf(supported ? version : current),
      assertSupported() {
        if (supported) return
        throw new AppError(
          'unsupported_api_version',
          `API-Version ${JSON.stringify(pinned)} is not supported. The current version is ${current.version}.`,
        )
      },
    }
  }
}

function checked(table: readonly ApiVersion[]): ApiVersion {
  const current = table.at(-1)
  if (current === undefined || current.superseded !== undefined)
    throw new Error('the last API version must not be superseded')
  if (new Set(table.map((row) => row.version)).size < table.length)
    throw new Error('an API version occurs twice')
  for (const { version, superseded } of table.slice(0, -1)) {
    if (superseded === undefined) throw new Error(`API version ${version} has no sunset`)
    if (superseded.sunset.getTime() - superseded.deprecated.getTime() < MIN_NOTICE_MS)
      throw new Error(`API version ${version} must work for at least 90 days`)
  }
  return current
}

function headersOf({ version, superseded }: ApiVersion): Record<string, string> {
  if (superseded === undefined) return { 'api-version': version }
  const { deprecated, sunset, guide } = superseded
  return {
    'api-version': version,
    deprecation: `@${Math.floor(deprecated.getTime() / 1000)}`,
    sunset: sunset.toUTCString(),
    link: `<${guide}>; rel="deprecation"; type="text/html", <${guide}>; rel="sunset"; type="text/html"`,
  }
}
