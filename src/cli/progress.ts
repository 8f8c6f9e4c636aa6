/** A line on a terminal that says how far a long command is. Without a terminal it says nothing. */

export interface ProgressState {
  /** Done and in all, in the same unit. */
  readonly done: number
  readonly total: number
  readonly rows: number
  readonly seconds: number
}

const BAR_WIDTH = 30
const MIN_INTERVAL_MS = 100

/** Such as `[████████······]  57 %   123,456 rows   41,152 rows/s   2 s left`. */
export function progressLine({ done, total, rows, seconds }: ProgressState): string {
  const part = total === 0 ? 1 : Math.min(1, done / total)
  const rate = seconds === 0 ? 0 : Math.round(rows / seconds)
  const left = part === 0 ? '' : `   ${duration((seconds * (1 - part)) / part)} left`
  return `${bar(part)}   ${grouped(rows)} rows   ${grouped(rate)} rows/s${left}`
}

/** Such as `[████████······]  57 %`. @param part from 0 to 1 */
export function bar(part: number): string {
  const full = Math.floor(part * BAR_WIDTH)
  const percent = String(Math.floor(part * 100)).padStart(3)
  return `[${'█'.repeat(full)}${'·'.repeat(BAR_WIDTH - full)}] ${percent} %`
}

const grouped = (value: number) => value.toLocaleString('en-US')

/** Such as `16 min 30 s`. */
export function duration(seconds: number): string {
  const whole = Math.ceil(seconds)
  if (whole < 60) return `${whole} s`
  const minutes = Math.floor(whole / 60)
  return minutes < 60 ? `${minutes} min ${whole % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

export interface Terminal {
  readonly isTTY?: boolean
  /** Of a line. */
  readonly columns?: number
  write(text: string): unknown
}

/** Draws on `terminal`, at most ten times a second. `end` takes the line away. */
export function createProgress(terminal: Terminal, now: () => number) {
  const started = now()
  let drawn = Number.NEGATIVE_INFINITY
  const isShown = terminal.isTTY === true
  return {
    update({ done, total, rows }: Omit<ProgressState, 'seconds'>): void {
      const time = now()
      if (!isShown || time - drawn < MIN_INTERVAL_MS) return
      drawn = time
      terminal.write(`\r\u001b[K${progressLine({ done, total, rows, seconds: (time - started) / 1000 })}`)
    },
    end(): void {
      if (isShown && drawn > 0) terminal.write('\r\u001b[K')
    },
  }
}
