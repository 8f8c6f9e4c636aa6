/** Blocks of addresses in CIDR notation (RFC 4632; RFC 4291 section 2.3). Pure. */
import ipaddr from 'ipaddr.js'

type Block = readonly [ipaddr.IPv4 | ipaddr.IPv6, number]

/** True for `10.0.0.0/8` or `fd00::/8`: an address in its usual form and a length that fits its family. */
export function isBlock(text: string): boolean {
  return parse(text) !== null
}

/**
 * Tells whether an address is in one of the blocks. An IPv4 address in an IPv6 form (`::ffff:10.0.0.1`) is not in an IPv4 block.
 * @throws Error for an invalid block
 */
export function addressesIn(blocks: readonly string[]): (address: string) => boolean {
  const parsed = blocks.map((text) => {
    const block = parse(text)
    if (block === null) throw new Error(`${text} is not a CIDR block`)
    return block
  })
  return (text) => {
    if (!isAddress(text)) return false
    const address = ipaddr.parse(text)
    return parsed.some(([base, bits]) => base.kind() === address.kind() && address.match(base, bits))
  }
}

function parse(text: string): Block | null {
  const [, address = '', length = ''] = /^([0-9a-fA-F.:]+)\/(\d{1,3})$/.exec(text) ?? []
  if (!isAddress(address)) return null
  const base = ipaddr.parse(address)
  const bits = Number(length)
  return bits <= (base.kind() === 'ipv4' ? 32 : 128) ? [base, bits] : null
}

/** `ipaddr.js` alone also takes short, octal and hexadecimal IPv4 addresses. */
function isAddress(text: string): boolean {
  return text.includes(':') ? ipaddr.IPv6.isValid(text) : ipaddr.IPv4.isValidFourPartDecimal(text)
}
