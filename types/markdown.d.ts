/** Text imports: `import source from './x.md' with { type: 'text' }` (embedded in the compiled binary too). */
declare module '*.md' {
  const source: string
  export default source
}
