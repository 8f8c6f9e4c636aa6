/** Files of the package are imported `with { type: 'file' }`: the value is the path to read it from. */
declare module 'swagger-ui-dist/*' {
  const path: string
  export default path
}
