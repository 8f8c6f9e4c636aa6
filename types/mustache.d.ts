/** Text imports: `import source from './x.mustache' with { type: 'text' }` (embedded in the compiled binary too). */
declare module '*.mustache' {
  const source: string
  export default source
}
