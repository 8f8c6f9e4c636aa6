/** Files without an ending that are imported `with { type: 'text' }` (embedded in the compiled binary too). */
declare module '*/LICENSE' {
  const source: string
  export default source
}
declare module '*/NOTICE' {
  const source: string
  export default source
}
