/**
 * Reads single settings from the environment by their declarations. An error is one line that names the variable, its value and
 * what is allowed. Values of secret variables are never repeated.
 */
import { accessSync, constants } from 'node:fs'
import { ESCAPES, readAddress } from '../../platform/db/address.ts'
import { trimEndOf } from '../../platform/validation/trim.ts'
import { type ChoiceOf, type NameOf, SETTINGS } from './table.ts'

export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

export type Environment = Readonly<Record<string, string | undefined>>

/** Variables whose value must not be repeated in a message. */
const SECRET = /(_URL|_KEY|_SECRET|_PASSWORD|_TOKEN)$/

/** Refuses a value. @throws ConfigError always */
export function fail(name: string, value: string, allowed: string): never {
  const shown = SECRET.test(name) ? '(value hidden)' : JSON.stringify(value)
  throw new ConfigError(`${name} is ${shown}, but must be ${allowed}`)
}

/** In characters: 256 bits in base64. */
const MIN_SECRET = 43

/** Whether a user name or password ends early at one of its characters (RFC 3986 section 3.2): its rest, with the @, is no longer before the host. */
const isCut = (value: string, url: URL | null) =>
  value.includes('@') && (url === null || url.hash !== '' || `${url.pathname}${url.search}`.includes('@'))

/** Parameters of the internal Redis URL by variable (platform/redis.ts). */
const REDIS_TLS = { ca: 'REDIS_TLS_CA', cert: 'REDIS_TLS_CERT', key: 'REDIS_TLS_KEY' } as const

/** Variables of libpq that stand for parameters of the URL. */
const LIBPQ_FILES = { sslrootcert: 'PGSSLROOTCERT', sslcert: 'PGSSLCERT', sslkey: 'PGSSLKEY' } as const

/** Adds what libpq's variables say about TLS where the URL does not. Certificates count where TLS is not optional. */
function withTlsOf(env: Environment, value: string): string {
  const parameters = new URLSearchParams(value.split('?')[1])
  const added = new URLSearchParams()
  const mode = parameters.get('sslmode') ?? env.PGSSLMODE
  if (mode !== undefined && !parameters.has('sslmode')) added.set('sslmode', mode)
  if (mode === 'require' || mode === 'verify-ca' || mode === 'verify-full')
    for (const [parameter, variable] of Object.entries(LIBPQ_FILES)) {
      const path = env[variable]
      if (path !== undefined && !parameters.has(parameter)) added.set(parameter, path)
    }
  if (added.size === 0) return value
  return `${value}${value.includes('?') ? '&' : '?'}${added}`
}

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK)
    return true
  } catch {
    return false
  }
}

/** Reads variables as `table.ts` declares them. Each method throws `ConfigError` for a value that is not allowed. */
export function reader(env: Environment) {
  const known = new Set<string>()
  const get = (name: string) => {
    known.add(name)
    const value = env[name]?.trim()
    return value === '' ? undefined : value
  }
  function url(name: NameOf<'url'>) {
    const { protocols } = SETTINGS[name]
    const value = get(name)
    if (value === undefined) return null
    const allowed = `a URL that starts with ${protocols.map((p) => `${p}//`).join(' or ')}`
    const url = URL.parse(value)
    if (!protocols.some((protocol) => protocol.startsWith('http')) && isCut(value, url))
      fail(name, value, `${allowed}; write ${ESCAPES} in a user name or password`)
    if (url === null || !protocols.includes(url.protocol)) fail(name, value, allowed)
    return trimEndOf(value, '/')
  }

  return {
    text: (name: NameOf<'text'>) => get(name) ?? null,
    textOrDefault: (name: NameOf<'text with default'>) => get(name) ?? SETTINGS[name].default,
    secret(name: NameOf<'text'>) {
      const value = get(name)
      if (value !== undefined && value.length < MIN_SECRET)
        fail(name, value, `at least ${MIN_SECRET} characters`)
      return value ?? null
    },
    integer(name: NameOf<'integer'>, fallback = SETTINGS[name].default) {
      const { min, max } = SETTINGS[name]
      const value = get(name)
      if (value === undefined) return fallback
      const number = Number(value)
      if (!/^\d+$/.test(value) || number < min || number > max)
        fail(name, value, `a whole number from ${min} to ${max}`)
      return number
    },
    oneOf<N extends NameOf<'choice'>>(name: N, fallback: ChoiceOf<N>): ChoiceOf<N> {
      const allowed: readonly ChoiceOf<N>[] = SETTINGS[name].allowed
      const value = get(name)
      if (value === undefined) return fallback
      const found = allowed.find((candidate) => candidate === value)
      return found ?? fail(name, value, `one of ${allowed.join(', ')}`)
    },
    url,
    /** A PostgreSQL URL, which may name several hosts. */
    databaseUrl(name: NameOf<'url'>) {
      const given = get(name)
      if (given === undefined) return null
      const value = withTlsOf(env, trimEndOf(given, '/'))
      const address = readAddress(value)
      if ('refused' in address) fail(name, value, address.refused)
      const { authority, certificate, key } = address.tls
      const files = { sslrootcert: authority, sslcert: certificate, sslkey: key }
      for (const [parameter, path] of Object.entries(files))
        if (path !== null && !isReadable(path))
          fail(name, value, `a URL whose ${parameter} is a readable file`)
      return value
    },
    /** A Redis URL, with the certificates of these files if it is one of TLS. */
    redisUrl() {
      const value = url('REDIS_URL')
      if (value === null) return null
      const address = new URL(value)
      if (address.protocol !== 'redis+unix:' && (address.search !== '' || !/^\/?\d*$/.test(address.pathname)))
        fail(
          'REDIS_URL',
          value,
          'a URL with the number of a database as its path, or none, and no parameters',
        )
      for (const [parameter, variable] of Object.entries(REDIS_TLS)) {
        const path = get(variable)
        if (path === undefined) continue
        if (address.protocol !== 'rediss:')
          fail(variable, path, 'unset where REDIS_URL does not begin with rediss://')
        if (!isReadable(path)) fail(variable, path, 'a readable file')
        address.searchParams.set(parameter, path)
      }
      if (address.searchParams.has('cert') !== address.searchParams.has('key'))
        fail(
          'REDIS_URL',
          value,
          'a URL that comes with both of REDIS_TLS_CERT and REDIS_TLS_KEY, or none of them',
        )
      return address.href
    },
    /** Variables that no setting has been read from so far. */
    others: () =>
      Object.fromEntries(
        Object.entries(env).flatMap(([name, value]) =>
          value === undefined || known.has(name) ? [] : [[name, value]],
        ),
      ),
  }
}
