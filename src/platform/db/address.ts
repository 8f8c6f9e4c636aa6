/**
 * PostgreSQL URLs, read as libpq reads them: several hosts, each with a port of its own (`postgres://ada@h1:5432,h2:5433/db`), the folder of
 * a Unix socket (`postgres:///db?host=/run/postgresql`), and the parameters of TLS. Parameters of libpq that have no effect here are refused
 * by their names. (PostgreSQL documentation, "Parameter Key Words".)
 *
 * The hosts are tried in this order, beginning with the one that was connected to last. `target_session_attrs` selects among them.
 */
import { type Refused, readTls, type Tls } from './address-tls.ts'

export interface Address {
  readonly hosts: readonly string[]
  /** One for each host. */
  readonly ports: readonly number[]
  /** Hosts, ports and database, for messages. */
  readonly place: string
  /** The URL with the first host alone, which `URL` can parse, and without the parameters that are read here. */
  readonly url: URL
  readonly tls: Tls
  /** In seconds. Null: as the service sets it. */
  readonly keepAlive: number | null
  readonly connectTimeout: number | null
}

const URL_PARTS = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#@]*)([/?][^#]*)?$/
const HOST_AND_PORT = /^(\[[0-9a-f:.]+\]|[^:[\]]*)(?::(\d{0,5}))?$/i
const DEFAULT_PORT = 5_432
/** What a user name or a password cannot have as it is. */
export const ESCAPES = '# as %23, % as %25, / as %2F, ? as %3F and @ as %40'
const NO_URL = {
  refused: `a URL that starts with postgres:// or postgresql://; write ${ESCAPES} in a user name or password`,
}
/** What libpq knows, and the driver does not do, with the values that ask for nothing else than it does. */
const WITHOUT_EFFECT: Readonly<Record<string, readonly string[]>> = {
  channel_binding: ['prefer', 'disable'],
  fallback_application_name: [],
  gssencmode: ['prefer', 'disable'],
  hostaddr: [],
  keepalives: ['1'],
  keepalives_count: [],
  keepalives_interval: [],
  krbsrvname: [],
  load_balance_hosts: ['disable'],
  passfile: [],
  require_auth: [],
  requirepeer: [],
  service: [],
  sslcrl: [],
  sslcrldir: [],
  sslsni: ['1'],
  ssl_max_protocol_version: [],
  ssl_min_protocol_version: [],
  tcp_user_timeout: [],
}

/** @returns `refused`: what it must be */
export function readAddress(text: string): Address | Refused {
  const [, before = '', authority = '', after = ''] = URL_PARTS.exec(text) ?? []
  if (before === '') return NO_URL
  // An unencoded / or ? ends a password early, and its start would pass for a host.
  if (after.includes('@') || !isDecodable(text)) return NO_URL
  const [first = ''] = authority.split(',')
  const single = `${before}${HOST_AND_PORT.exec(first)?.[1] || 'localhost'}${after}`
  if (!URL.canParse(single)) return NO_URL
  const url = new URL(single)
  const { searchParams } = url
  const found = searchParams.has('host') ? ofParameters(searchParams) : ofAuthority(authority)
  if (found === null) return NO_URL
  for (const [name, harmless] of Object.entries(WITHOUT_EFFECT)) {
    const value = take(searchParams, name)
    if (value !== null && !harmless.includes(value))
      return { refused: `a URL without this value of ${name}, which has no effect here` }
  }
  const [keepAlive = null, connectTimeout = null] = ['keepalives_idle', 'connect_timeout'].map((name) =>
    take(searchParams, name),
  )
  if (![keepAlive, connectTimeout].every((seconds) => seconds === null || /^\d{1,6}$/.test(seconds)))
    return { refused: 'a URL with keepalives_idle and connect_timeout in whole seconds' }
  const tls = readTls((name) => take(searchParams, name))
  if ('refused' in tls) return tls
  const { hosts, ports, list } = found
  moveParameters(url)
  return {
    ...{ hosts, ports, place: `${list}${url.pathname}`, url, tls },
    keepAlive: keepAlive === null ? null : Number(keepAlive),
    connectTimeout: connectTimeout === null ? null : Number(connectTimeout),
  }
}

/** The same of a URL that the settings have accepted. @throws TypeError for any other */
export function addressOf(text: string): Address {
  const address = readAddress(text)
  if ('refused' in address) throw new TypeError('not a PostgreSQL URL')
  return address
}

interface Hosts {
  readonly hosts: readonly string[]
  readonly ports: readonly number[]
  /** As they were written. */
  readonly list: string
}

function ofAuthority(list: string): Hosts | null {
  const found = list.split(',').map((part) => HOST_AND_PORT.exec(part))
  if (!found.every((match) => match !== null)) return null
  const hosts = found.map(([, host]) => hostOf(host ?? ''))
  return within(
    hosts,
    found.map(([, , port]) => Number(port || DEFAULT_PORT)),
    list,
  )
}

/** `host` and `port` as parameters, which may name the folder of a socket. One port is that of every host. */
function ofParameters(parameters: URLSearchParams): Hosts | null {
  const list = take(parameters, 'host') ?? ''
  const hosts = list.split(',').map((host) => host || 'localhost')
  const given = (take(parameters, 'port') ?? '').split(',').map((port) => Number(port || DEFAULT_PORT))
  const ports = given.length === 1 ? hosts.map(() => given[0] as number) : given
  // The driver takes the folder of a socket alone.
  if (ports.length !== hosts.length || (hosts.length > 1 && list.includes('/'))) return null
  return within(hosts, ports, list)
}

const within = (hosts: readonly string[], ports: readonly number[], list: string): Hosts | null =>
  ports.every((port) => Number.isInteger(port) && port >= 1 && port <= 65_535) ? { hosts, ports, list } : null

/** Each % begins an escape. */
function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

/** IPv6 addresses stand in brackets. No host is this machine. */
function hostOf(text: string): string {
  return decodeURIComponent(text.replace(/^\[|\]$/g, '')) || 'localhost'
}

/** User, password and database as parameters count more than those in their places. */
function moveParameters(url: URL): void {
  const [user, password, database] = ['user', 'password', 'dbname'].map((name) =>
    take(url.searchParams, name),
  )
  if (user != null) url.username = encodeURIComponent(user)
  if (password != null) url.password = encodeURIComponent(password)
  if (database != null) url.pathname = encodeURIComponent(database)
}

function take(parameters: URLSearchParams, name: string): string | null {
  const value = parameters.get(name)
  parameters.delete(name)
  return value
}
