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
  /** Null: as the service sets it. */
  readonly keepAliveSeconds: number | null
}

const URL_PARTS = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#@]*)([/?][^#]*)?$/
const HOST_AND_PORT = /^(\[[0-9a-f:.]+\]|[^:[\]]*)(?::(\d{0,5}))?$/i
const DEFAULT_PORT = 5_432
const ESCAPES = '# as %23, / as %2F, ? as %3F and @ as %40'
const NO_URL = {
  refused: `a URL that starts with postgres:// or postgresql://; write ${ESCAPES} in a user name or password`,
}
/** What libpq knows, and the driver does not do. The value that changes nothing passes. */
const WITHOUT_EFFECT: Readonly<Record<string, string | null>> = {
  channel_binding: 'prefer',
  fallback_application_name: null,
  gssencmode: 'prefer',
  hostaddr: null,
  keepalives: '1',
  keepalives_count: null,
  keepalives_interval: null,
  krbsrvname: null,
  load_balance_hosts: 'disable',
  passfile: null,
  require_auth: null,
  requirepeer: null,
  service: null,
  sslcrl: null,
  sslcrldir: null,
  sslsni: '1',
  ssl_max_protocol_version: null,
  ssl_min_protocol_version: null,
  tcp_user_timeout: null,
}

/** @returns `refused`: what it must be */
export function readAddress(text: string): Address | Refused {
  const [, before = '', authority = '', after = ''] = URL_PARTS.exec(text) ?? []
  if (before === '') return NO_URL
  // An unencoded / or ? ends a password early, and its start would pass for a host.
  if (after.includes('@')) return NO_URL
  const [first = ''] = authority.split(',')
  const single = `${before}${HOST_AND_PORT.exec(first)?.[1] || 'localhost'}${after}`
  if (!URL.canParse(single)) return NO_URL
  const url = new URL(single)
  const hostsAndPorts = url.searchParams.has('host') ? ofParameters(url.searchParams) : ofAuthority(authority)
  if (hostsAndPorts === null) return NO_URL
  for (const [name, harmless] of Object.entries(WITHOUT_EFFECT)) {
    const value = take(url.searchParams, name)
    if (value !== null && value !== harmless && !(harmless !== null && value === 'disable'))
      return { refused: `without ${name}=${harmless === null ? '…' : value}, which has no effect here` }
  }
  const keepAlive = take(url.searchParams, 'keepalives_idle')
  for (const seconds of [keepAlive, url.searchParams.get('connect_timeout')])
    if (seconds !== null && !/^\d{1,6}$/.test(seconds))
      return { refused: 'a URL with keepalives_idle and connect_timeout in whole seconds' }
  const tls = readTls((name) => take(url.searchParams, name))
  if ('refused' in tls) return tls
  return {
    ...hostsAndPorts,
    ...{ url: withParameters(url), tls, keepAliveSeconds: keepAlive === null ? null : Number(keepAlive) },
    place: `${hostsAndPorts.list}${url.pathname}`,
  }
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
  const hosts = list.split(',').map(hostOf)
  const given = (take(parameters, 'port') ?? '').split(',').map((port) => Number(port || DEFAULT_PORT))
  const ports = given.length === 1 ? hosts.map(() => given[0] as number) : given
  // The driver takes the folder of a socket alone.
  if (ports.length !== hosts.length || (hosts.length > 1 && list.includes('/'))) return null
  return within(hosts, ports, list)
}

const within = (hosts: readonly string[], ports: readonly number[], list: string): Hosts | null =>
  ports.every((port) => port >= 1 && port <= 65_535) ? { hosts, ports, list } : null

/** IPv6 addresses stand in brackets. No host is this machine. */
function hostOf(text: string): string {
  return decodeURIComponent(text.replace(/^\[|\]$/g, '')) || 'localhost'
}

/** User, password and database as parameters count more than those in their places. */
function withParameters(url: URL): URL {
  const { searchParams } = url
  const [user, password, database] = ['user', 'password', 'dbname'].map((name) => take(searchParams, name))
  if (user != null) url.username = encodeURIComponent(user)
  if (password != null) url.password = encodeURIComponent(password)
  if (database != null) url.pathname = encodeURIComponent(database)
  return url
}

function take(parameters: URLSearchParams, name: string): string | null {
  const value = parameters.get(name)
  parameters.delete(name)
  return value
}
