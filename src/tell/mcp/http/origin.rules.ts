/**
 * Which `Host` and `Origin` may reach the tools (specification of the Model Context Protocol, "Security Warning" of Streamable HTTP).
 *
 * A page on the internet can make a browser resolve the page's own name to an address of the local network (DNS rebinding). The
 * name in `Host` is then the page's. Names without a dot and addresses cannot be rebound.
 */
/** An IPv4 address, or an IPv6 address in brackets, as the URL parser writes them. */
const ADDRESS = /^(?:[\d.]+|\[.*\])$/

/** Whether the host of `Host`, with or without a port, may be served. `publicUrl`: `PUBLIC_BASE_URL` */
export function isAllowedHost(host: string | null, publicUrl: string | null): boolean {
  // HTTP/1.0; a browser always sends it.
  if (host === null) return true
  const name = nameOf(`http://${host}`)
  if (name === null) return false
  if (ADDRESS.test(name)) return true
  if (!name.includes('.') || name.endsWith('.localhost')) return true
  return publicUrl !== null && name === nameOf(publicUrl)
}

/** Whether a page of this origin may call. Programs that are no browsers send no `Origin`. */
export function isAllowedOrigin(origin: string | null, serviceUrl: string): boolean {
  return origin === null || (URL.canParse(serviceUrl) && origin === new URL(serviceUrl).origin)
}

function nameOf(url: string): string | null {
  return URL.canParse(url) ? new URL(url).hostname.toLowerCase() : null
}
