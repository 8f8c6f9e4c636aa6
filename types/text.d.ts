/** Text imports: `import source from './x.txt' with { type: 'text' }` (embedded in the compiled binary too). */
declare module '*.txt' {
  const source: string
  export default source
}
