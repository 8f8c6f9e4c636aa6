/** Text imports: `import items from './x.jsonl' with { type: 'text' }` (embedded in the compiled binary too). */
declare module '*.jsonl' {
  const text: string
  export default text
}
