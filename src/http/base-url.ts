/** Absolute URLs of this service, as its clients can use them. */
import type { Config } from '../config.ts'
import { originOf } from './address.ts'

/** Scheme, host, port and prefix, without a trailing slash: as configured, else as the client spelled them. */
export function baseUrlOf(request: Request, { publicBaseUrl }: Pick<Config, 'publicBaseUrl'>): string {
  return publicBaseUrl ?? originOf(request)
}
