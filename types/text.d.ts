/** Text imports: `import source from './x.txt' with { type: 'text' }` (embedded in the compiled binary too). */
declare module '*.txt' {
  const source: string
  export default source
}
/** A file that is imported `with { type: 'file' }`: the value is the path to read it from. */
declare module '*.zst' {
  const path: string
  export default path
}
declare module '*.wasm' {
  const path: string
  export default path
}
