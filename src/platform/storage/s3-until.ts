/** Requests to S3 that end with a signal. */

/** For `S3Client.send`. */
export function until(signal: AbortSignal | undefined): { readonly abortSignal?: AbortSignal } {
  return signal === undefined ? {} : { abortSignal: signal }
}

/** The client does not throw the reason of an aborted signal. @throws that reason, or the error of `work` */
export async function orReason<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
  signal?.throwIfAborted()
  try {
    return await work()
  } catch (error) {
    signal?.throwIfAborted()
    throw error
  }
}
