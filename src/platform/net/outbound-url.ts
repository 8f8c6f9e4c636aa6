/**
 * Decides which URLs and addresses the service may send requests to (specification, "Create", rule 4).
 *
 * An address is allowed only if it is known to be public, or if the operator lists its block in `OUTBOUND_ALLOW`. Everything
 * else is refused. The text of a URL is checked first; no name is resolved for that. The WHATWG parser reads it, because it
 * also makes the connection: it turns every odd spelling (octal, hexadecimal, short, full-width, percent-encoded) into
 * the address that is meant. When the connection is made, names are resolved and `allowsAddress` checks their addresses.
 */
import ipaddr from 'ipaddr.js'
import { AppError } from '../errors.ts'
import { addressesIn } from './address-blocks.ts'

const MAX_LENGTH = 8_192

/** Names of this machine that its resolver knows without DNS (RFC 6761, hosts files of common systems). */
const LOCAL_NAMES: ReadonlySet<string> = new Set([
  'localhost',
  'localhost6',
  'ip6-localhost',
  'ip6-loopback',
  'localhost.localdomain',
  'localhost6.localdomain6',
])
/** Local by RFC 6761 and 6762, or reserved for private use by ICANN. */
const LOCAL_SUFFIXES = ['.localhost', '.local', '.internal'] as const

/** A public number, at which Azure answers its machines with their settings. */
const AZURE_HOST = '168.63.129.16'

/** All addresses that IANA has assigned for the internet begin with 001 (RFC 4291 section 2.4). */
const GLOBAL_UNICAST: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('2000::'), 3]

export interface OutboundPolicy {
  /**
   * The parsed URL, whose spelling will be used.
   * @param path the place of the text in the request, for the finding
   * @throws AppError 400 `url_not_allowed`
   */
  assertUrl(text: string, path: string): URL
  /**
   * True if a request may go to the address.
   * @param address IPv4 in four decimal parts, or IPv6 without brackets
   */
  allowsAddress(address: string): boolean
}

/**
 * For URLs that customers give.
 * @param allow CIDR blocks of addresses that are allowed although they are not public (`OUTBOUND_ALLOW`). They change how
 * addresses are judged, and nothing else: names such as `localhost` remain refused.
 */
export function createOutboundPolicy(allow: readonly string[]): OutboundPolicy {
  const isListed = addressesIn(allow)
  return policyOf((address) => isPublicAddress(address) || isListed(address), isLocalName)
}

/** For servers that the operator's settings name: any name, also `localhost` and one that ends in `.internal`. Addresses are judged as by `policy`. */
export function allowLocalNames({ allowsAddress }: OutboundPolicy): OutboundPolicy {
  return policyOf(allowsAddress, () => false)
}

function policyOf(
  allowsAddress: OutboundPolicy['allowsAddress'],
  isRefusedName: (host: string) => boolean,
): OutboundPolicy {
  return {
    allowsAddress,
    assertUrl(text, path) {
      const url = text.length <= MAX_LENGTH ? URL.parse(text) : null
      const reason =
        url === null
          ? `must be an absolute URL of at most ${MAX_LENGTH} characters`
          : refusalOf(url, text, { allowsAddress, isRefusedName })
      if (url !== null && reason === null) return url
      const details = [{ path, code: 'url_not_allowed', message: reason ?? 'is not allowed' }] as const
      throw new AppError('url_not_allowed', `${path}: ${reason}`, { details })
    },
  }
}

interface Judges extends Pick<OutboundPolicy, 'allowsAddress'> {
  isRefusedName(host: string): boolean
}

/** Why the URL is refused, or null if it is allowed. */
function refusalOf(url: URL, text: string, { allowsAddress, isRefusedName }: Judges): string | null {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return 'must start with http:// or https://'
  if (url.username !== '' || url.password !== '' || hasUserInfo(text)) return 'must not carry credentials'
  if (url.port === '0') return 'must not name port 0'
  const host = url.hostname
  if (isLiteral(host)) {
    return allowsAddress(host.replace(/^\[|\]$/g, '')) ? null : 'must not name a private or reserved address'
  }
  if (host.endsWith('.')) return 'must not name a host that ends with a dot'
  if (host.split('.').includes('')) return 'must name a host without empty labels'
  if (isRefusedName(host)) return 'must not name a local host'
  return null
}

/** Also finds empty user information (`http://@host/`), which the parsed URL drops. */
function hasUserInfo(text: string): boolean {
  const authority = /^[^:]*:[\\/]*([^\\/?#]*)/.exec(text.replaceAll(/[\t\r\n]/g, ''))?.[1] ?? ''
  return authority.includes('@')
}

/** After parsing, every IPv4 address has this form. */
function isLiteral(host: string): boolean {
  return host.startsWith('[') || ipaddr.IPv4.isValidFourPartDecimal(host)
}

function isLocalName(host: string): boolean {
  if (LOCAL_NAMES.has(host)) return true
  return LOCAL_SUFFIXES.some((suffix) => host.endsWith(suffix) || host === suffix.slice(1))
}

/**
 * True for an address on the public internet: not private, loopback, link-local, multicast, documentation, benchmarking or
 * otherwise reserved, nor that of a cloud's own machine, and no IPv6 address that carries an IPv4 one (mapped, compatible, translated, 6to4, Teredo).
 * @param text IPv4 in four decimal parts, or IPv6 without brackets
 */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text) || text === AZURE_HOST) return false
  const address = ipaddr.parse(text)
  if (address.range() !== 'unicast') return false
  return address instanceof ipaddr.IPv4 || address.match(...GLOBAL_UNICAST)
}
