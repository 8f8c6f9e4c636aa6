/**
 * The progress of a long command. A terminal shows one line that is redrawn. A file or a pipe on standard error gets a new
 * line every ten seconds.
 */

export interface ProgressState {
  /** The finished amount; `total` has the same unit. */
  readonly done: number
  readonly total: number
  readonly rows: number
  readonly seconds: number
}

const BAR_WIDTH = 30
/** A shorter bar would show nothing, so it is omitted. */
const SHORTEST_BAR = 5
const MIN_INTERVAL_MS = 100
const PRINT_EVERY_MS = 10_000
const DEFAULT_COLUMNS = 80

/** Such as `[████████······]  57 %   123,456 rows   41,152 rows/s   2 s left`, at most `width` characters long. */
export function progressLine({ done, total, rows, seconds }: ProgressState, width?: number): string {
  const part = total === 0 ? 1 : Math.min(1, done / total)
  const rate = seconds === 0 ? 0 : Math.round(rows / seconds)
  const left = part === 0 ? '' : `   ${duration((seconds * (1 - part)) / part)} left`
  return withBar(part, `   ${grouped(rows)} rows   ${grouped(rate)} rows/s${left}`, width)
}

/** A bar with `text` behind it. The bar gets shorter first, because the text says more. */
export function withBar(part: number, text: string, width = Number.POSITIVE_INFINITY): string {
  const room = width - [...text].length - bar(part, 0).length
  if (room >= SHORTEST_BAR) return `${bar(part, Math.min(BAR_WIDTH, room))}${text}`
  return cut(`${percentOf(part)}${text}`, width)
}

/** Such as `[████████······]  57 %`. @param part from 0 to 1 */
function bar(part: number, width = BAR_WIDTH): string {
  const full = Math.floor(part * width)
  return `[${'█'.repeat(full)}${'·'.repeat(width - full)}] ${percentOf(part)}`
}

const percentOf = (part: number) => `${String(Math.floor(part * 100)).padStart(3)} %`

/** Cuts `text` to `length` characters, the last of which is `…`. */
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
  /** Characters in a line. */
  readonly columns?: number
  write(text: string): unknown
}

/** Draws on a terminal at most ten times a second, or prints lines to a file or pipe. `end` removes a drawn line. */
export function createProgress(terminal: Terminal, now: () => number) {
  const started = now()
  const isShown = terminal.isTTY === true
  // Without a terminal the first line comes after ten seconds: short work needs none.
  let printedAt = isShown ? Number.NEGATIVE_INFINITY : started
  let isDrawn = false
  return {
    update({ done, total, rows }: Omit<ProgressState, 'seconds'>): void {
      const time = now()
      if (time - printedAt < (isShown ? MIN_INTERVAL_MS : PRINT_EVERY_MS)) return
      printedAt = time
      isDrawn = isShown
      const state = { done, total, rows, seconds: (time - started) / 1000 }
      // A line that fills the last column would wrap and could not be removed.
      const width = (terminal.columns ?? DEFAULT_COLUMNS) - 1
      if (isShown) terminal.write(`\r\u001b[K${progressLine(state, width)}`)
      else terminal.write(`earshot: ${withoutBar(progressLine(state))}\n`)
    },
    end(): void {
      if (isDrawn) terminal.write('\r\u001b[K')
    },
  }
}

/** The line without its bar, for files and pipes. */
export const withoutBar = (line: string) => line.replace(/\[[█·]*\] */, '').trim()
