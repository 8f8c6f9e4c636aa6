/**
 * A line that says how far a long command is: drawn over itself on a terminal, and every ten seconds a line of its own where standard
 * error is a file or a pipe.
 */

export interface ProgressState {
  /** Done and in all, in the same unit. */
  readonly done: number
  readonly total: number
  readonly rows: number
  readonly seconds: number
}

const BAR_WIDTH = 30
/** A shorter bar shows nothing: it is left out. */
const SHORTEST_BAR = 5
const MIN_INTERVAL_MS = 100
const TELL_EVERY_MS = 10_000
const DEFAULT_COLUMNS = 80

/** Such as `[████████······]  57 %   123,456 rows   41,152 rows/s   2 s left`, at most `width` characters long. */
export function progressLine({ done, total, rows, seconds }: ProgressState, width?: number): string {
  const part = total === 0 ? 1 : Math.min(1, done / total)
  const rate = seconds === 0 ? 0 : Math.round(rows / seconds)
  const left = part === 0 ? '' : `   ${duration((seconds * (1 - part)) / part)} left`
  return withBar(part, `   ${grouped(rows)} rows   ${grouped(rate)} rows/s${left}`, width)
}

/** A bar and what follows it. The bar is as wide as `width` allows, since what follows says more. */
export function withBar(part: number, text: string, width = Number.POSITIVE_INFINITY): string {
  const room = width - [...text].length - bar(part, 0).length
  if (room >= SHORTEST_BAR) return `${bar(part, Math.min(BAR_WIDTH, room))}${text}`
  return cut(`${percentOf(part)}${text}`, width)
}

/** Such as `[████████······]  57 %`. @param part from 0 to 1 */
export function bar(part: number, width = BAR_WIDTH): string {
  const full = Math.floor(part * width)
  return `[${'█'.repeat(full)}${'·'.repeat(width - full)}] ${percentOf(part)}`
}

const percentOf = (part: number) => `${String(Math.floor(part * 100)).padStart(3)} %`

/** At most so many characters, the last one `…` where some are missing. */
export function cut(text: string, length: number): string {
  const characters = [...text]
  return characters.length <= length ? text : `${characters.slice(0, length - 1).join('')}…`
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

/** Draws on `terminal`, at most ten times a second, or writes lines where it is none. `end` takes a drawn line away. */
export function createProgress(terminal: Terminal, now: () => number) {
  const started = now()
  const isShown = terminal.isTTY === true
  // Without a terminal not at once: what is over in ten seconds needs no line on the way.
  let told = isShown ? Number.NEGATIVE_INFINITY : started
  let isDrawn = false
  return {
    update({ done, total, rows }: Omit<ProgressState, 'seconds'>): void {
      const time = now()
      if (time - told < (isShown ? MIN_INTERVAL_MS : TELL_EVERY_MS)) return
      told = time
      isDrawn = isShown
      const state = { done, total, rows, seconds: (time - started) / 1000 }
      // A line that fills the last column would wrap, and could not be taken away again.
      const width = (terminal.columns ?? DEFAULT_COLUMNS) - 1
      if (isShown) terminal.write(`\r\u001b[K${progressLine(state, width)}`)
      else terminal.write(`earshot: ${withoutBar(progressLine(state))}\n`)
    },
    end(): void {
      if (isDrawn) terminal.write('\r\u001b[K')
    },
  }
}

/** For files, in which nothing is drawn over. */
export const withoutBar = (line: string) => line.replace(/\[[█·]*\] */, '').trim()
