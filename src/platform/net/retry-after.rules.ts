/** `Retry-After` of an answer (RFC 9110, section 10.2.3). Pure; callers limit what they obey. */

/** @returns milliseconds from `now`, at least 0; null if the header is absent, or neither seconds nor a date */
export function retryAfterMs(header: string | null, now: Date): number | null {
  const text = header?.trim() ?? ''
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000
  if (!/^[A-Z][a-z]{2}, /.test(text)) return null
  const at = Date.parse(text)
  return Number.isNaN(at) ? null : Math.max(0, at - now.getTime())
}

/** As `retryAfterMs`, in whole seconds that end no earlier. */
export function retryAfterSeconds(header: string | null, now: Date): number | null {
  const ms = retryAfterMs(header, now)
  return ms === null ? null : Math.ceil(ms / 1_000)
}
