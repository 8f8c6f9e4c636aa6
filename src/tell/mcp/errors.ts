/** Errors of the tools of coding agents that a client can see. `src/platform/errors.ts` describes the parts. */
export const MCP_ERRORS = {
  codes: {
    insufficient_scope: 403,
    origin_not_allowed: 403,
  },
} as const

declare module '../../platform/errors.ts' {
  interface DeclaredErrors {
    readonly mcp: typeof MCP_ERRORS
  }
}
