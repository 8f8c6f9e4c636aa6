/** Text imports: `import source from './x.sql' with { type: 'text' }` (embedded in the compiled binary too). */
declare module '*.sql' {
  const source: string
  export default source
}
