/** Absolute URLs of this service, for its clients. */
import type { Config } from '../kernel/config.ts'
import { originOf } from './address.ts'

/** The address of this service for a person at this machine, without a trailing slash. `port`: the one it listens on. */
export function localUrl(
  { publicBaseUrl, host }: Pick<Config, 'publicBaseUrl' | 'host'>,
  port: number,
): string {
  const name = ['0.0.0.0', '::'].includes(host) ? 'localhost' : host
  return publicBaseUrl ?? `http://${name.includes(':') ? `[${name}]` : name}:${port}`
}

/** Scheme, host, port and prefix, without a trailing slash: from the settings, otherwise from the request. */
export function baseUrlOf(request: Request, { publicBaseUrl }: Pick<Config, 'publicBaseUrl'>): string {
  return publicBaseUrl ?? originOf(request)
}

const LOOPBACK = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/

/**
 * The base of links in mails; null if there is none to trust. Without `PUBLIC_BASE_URL` the address of the request counts only
 * if it is this machine: anybody can send a request with another `Host`, and the mail would lead the user there.
 */
export function mailBaseUrl(publicBaseUrl: string | null, requestOrigin: string): string | null {
  if (publicBaseUrl !== null) return publicBaseUrl
  return LOOPBACK.test(new URL(requestOrigin).hostname) ? requestOrigin : null
}
