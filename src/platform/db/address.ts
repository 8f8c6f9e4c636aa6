/**
 * PostgreSQL URLs, read as libpq reads them: several hosts, each with a port of its own (`postgres://ada@h1:5432,h2:5433/db`).
 *
 * The hosts are tried in this order, beginning with the one that was connected to last. `target_session_attrs` selects among them.
 */

interface Address {
  readonly hosts: readonly string[]
  /** One for each host. */
  readonly ports: readonly number[]
  /** Hosts, ports and database, for messages. */
  readonly place: string
  /** The URL with the first host alone, which `URL` can parse. */
  readonly url: URL
}

const URL_PARTS = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#@]*)([/?][^#]*)?$/
const HOST_AND_PORT = /^(\[[0-9a-f:.]+\]|[^:[\]]*)(?::(\d{0,5}))?$/i
const DEFAULT_PORT = 5_432

/** Null if it is no such URL. */
export function readAddress(text: string): Address | null {
  const [, before = '', hostList = '', after = ''] = URL_PARTS.exec(text) ?? []
  if (before === '') return null
  // An unencoded / or ? ends a password early, and its start would pass for a host.
  if (after.includes('@')) return null
  const found = hostList.split(',').map((part) => HOST_AND_PORT.exec(part))
  if (!found.every((match) => match !== null)) return null
  const hosts = found.map(([, host]) => hostOf(host ?? ''))
  const ports = found.map(([, , port]) => Number(port || DEFAULT_PORT))
  const single = `${before}${found[0]?.[1] || 'localhost'}${after}`
  if (ports.some((port) => port < 1 || port > 65_535) || !URL.canParse(single)) return null
  const url = new URL(single)
  return { hosts, ports, place: `${hostList}${url.pathname}`, url }
}

/** IPv6 addresses stand in brackets. No host is this machine. */
function hostOf(text: string): string {
  return decodeURIComponent(text.replace(/^\[|\]$/g, '')) || 'localhost'
}
