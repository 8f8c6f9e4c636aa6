/**
 * Sends requests at the same time from a process of its own: `bun append-process.ts`. Standard input is one JSON object
 * (`AppendOrder`), standard output the statuses and bodies of the answers in the order of the requests.
 */

export interface AppendOrder {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly bodies: readonly unknown[]
}

if (import.meta.main) {
  const { url, headers, bodies } = (await Bun.stdin.json()) as AppendOrder
  const answers = await Promise.all(
    bodies.map(async (body) => {
      const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
      return { status: response.status, body: await response.json() }
    }),
  )
  process.stdout.write(JSON.stringify(answers))
}
