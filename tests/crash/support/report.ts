/** The readable report of a soak. */
import type { Audit } from './audit.ts'
import type { Counts } from './load.ts'

export interface Report extends Counts, Audit {
  readonly seed: number
  readonly minutes: number
  /** Answered with 200. */
  readonly events: number
  /** Restarted processes. */
  readonly restarts: number
  readonly faults: Readonly<Record<string, number>>
  /** After each round of trouble. */
  readonly drainSeconds: readonly number[]
  /** The longest wait of a due message, and the most messages that waited at once. */
  readonly peakLagSeconds: number
  readonly peakMessages: number
}

/** The whole report as Markdown. */
export function toMarkdown(report: Report): string {
  const drains = report.drainSeconds
  const seconds = (value: number) => `${value.toFixed(1)} s`
  const faults = Object.entries(report.faults).toSorted(([a], [b]) => (a < b ? -1 : 1))
  const strikes = faults.reduce((sum, [, count]) => sum + count, 0)
  return [
    `# Soak: ${report.minutes.toFixed(1)} minutes, seed ${report.seed}`,
    '',
    ...table([
      ['', ''],
      ['lost', report.lost],
      ['doubled', report.doubled],
      ['out of order', report.outOfOrder],
      ['requests answered with 200', report.accepted],
      ['requests refused with 503 (and sent again)', report.refused],
      ['requests answered with 500', report.failed],
      ['requests without an answer (and sent again)', report.unanswered],
      ['events stored', report.events],
      ['sessions', report.sessions],
      ['probe messages', report.probes],
      ['faults', strikes],
      ['processes started again', report.restarts],
      [
        'backlog drained after, on average',
        seconds(drains.reduce((sum, one) => sum + one, 0) / drains.length),
      ],
      ['backlog drained after, at worst', seconds(Math.max(...drains))],
      ['oldest due message, at worst', seconds(report.peakLagSeconds)],
      ['messages waiting, at most', report.peakMessages],
    ]),
    '',
    ...table([['Fault', 'Times'], ...faults]),
    ...(report.details.length === 0
      ? []
      : ['', '## Broken', '', ...report.details.map((line) => `- ${line}`)]),
  ].join('\n')
}

function table([head = [], ...rows]: readonly (readonly (string | number)[])[]): readonly string[] {
  const line = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)]
}
