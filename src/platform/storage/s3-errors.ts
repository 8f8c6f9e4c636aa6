/** Reads the errors of the S3 client. Pure. */

/** Status of the response; undefined if there was none. */
export function statusOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('$metadata' in error)) return undefined
  return (error.$metadata as { readonly httpStatusCode?: number }).httpStatusCode
}

/** The server's error code. */
export function isNamed(error: unknown, name: string): boolean {
  return error instanceof Error && error.name === name
}
