/** Reads the JUnit report of `bun test`. A flat scan is enough, because the runner writes one element on each line. */

export interface Report {
  readonly tests: number
  readonly skipped: number
  /** `file › suite › title` of every failed test. */
  readonly failed: readonly string[]
  readonly files: ReadonlySet<string>
}

/** The numbers of a report, or null if the text is not a report. */
export function readReport(text: string): Report | null {
  if (!text.includes('</testsuites>') && !/<testsuites[^>]*\/>/.test(text)) return null
  const cases = [...text.matchAll(/<testcase\b([^>]*?)(\/>|>([\s\S]*?)<\/testcase>)/g)].map(
    ([, head, , body]) => ({
      attributes: attributes(head ?? ''),
      body: body ?? '',
    }),
  )
  return {
    tests: cases.length,
    skipped: cases.filter((one) => one.body.includes('<skipped')).length,
    failed: cases
      .filter((one) => /<(?:failure|error)\b/.test(one.body))
      .map(({ attributes: { file, classname, name } }) =>
        [file, classname, name].filter(Boolean).join(' › '),
      ),
    files: new Set(cases.flatMap((one) => one.attributes.file ?? [])),
  }
}

function attributes(text: string): Record<string, string> {
  return Object.fromEntries(
    [...text.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, decodeEntities(value ?? '')]),
  )
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' }

function decodeEntities(text: string): string {
  return text.replaceAll(/&(?:#(\d+)|(\w+));/g, (whole, code, name) =>
    code === undefined ? (ENTITIES[name] ?? whole) : String.fromCodePoint(Number(code)),
  )
}
