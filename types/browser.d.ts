/** Files of a web page, imported as text. */
declare module '*.browser.js' {
  const text: string
  export default text
}
declare module '*.css' {
  const text: string
  export default text
}
