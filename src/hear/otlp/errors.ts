/** Errors of the trace receiver. They are answered as `google.rpc.Status`; see answer.ts. */
export const OTLP_ERRORS = { codes: { malformed_protobuf: 400 } } as const

declare module '../../platform/errors.ts' {
  interface DeclaredErrors {
    readonly otlp: typeof OTLP_ERRORS
  }
}
