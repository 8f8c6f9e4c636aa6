/**
 * Rounds and ratios.
 *
 * Compare a figure only with others of the same run. Contestants alternate, round after
 * round, so that other load affects all of them. The median of the rounds counts.
 */

export interface Contestant {
  readonly name: string
  /** Unmeasured preparation of each run. */
  prepare?(amount: number): Promise<void>
  /** Runs `amount` units of work with `concurrency` callers. */
  run(amount: number): Promise<void>
}

export interface Rate {
  readonly name: string
  /** Units per second of every round, sorted. */
  readonly rates: readonly number[]
  readonly median: number
}

/** Runs the contestants alternately. The first round is a warm-up and does not count. */
export async function compare(
  contestants: readonly Contestant[],
  amount: number,
  rounds: number,
): Promise<readonly Rate[]> {
  const rates = new Map<string, number[]>(contestants.map(({ name }) => [name, []]))
  for (let round = 0; round <= rounds; round++) {
    for (const contestant of contestants) {
      await contestant.prepare?.(amount)
      const start = performance.now()
      await contestant.run(amount)
      const rate = (amount / (performance.now() - start)) * 1000
      if (round > 0) rates.get(contestant.name)?.push(rate)
    }
  }
  return contestants.map(({ name }) => {
    const sorted = (rates.get(name) ?? []).toSorted((a, b) => a - b)
    return { name, rates: sorted, median: sorted[Math.floor(sorted.length / 2)] ?? Number.NaN }
  })
}

/** Runs `task` for 0 … count - 1, `concurrency` at a time. */
export async function inParallel(
  count: number,
  concurrency: number,
  task: (index: number) => Promise<void>,
): Promise<void> {
  let next = 0
  const caller = async () => {
    while (next < count) await task(next++)
  }
  await Promise.all(Array.from({ length: concurrency }, caller))
}

/** A Markdown table; every column but the first is right-aligned. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  )
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))).join(' | ')} |`
  const rule = `|${widths.map((width, column) => (column === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`
  return [line(header), rule, ...rows.map(line)].join('\n')
}
