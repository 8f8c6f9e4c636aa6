/** The progress of uploads: one redrawn line on a terminal, and an occasional line elsewhere. */
import { cut, duration, type Terminal, withBar, withoutBar } from './progress.ts'

/** The rate is an average over this time: current, but steady. */
const WINDOW_MS = 10_000
const SAMPLE_EVERY_MS = 100
const DRAW_EVERY_MS = 100
const PRINT_EVERY_MS = 10_000
/** On a line with more than the name. */
const LONGEST_NAME = 24
/** Characters reserved for the text behind the name. */
const SHORTEST_TEXT = 15

export interface Rate {
  /** Records the total of bytes at a time in milliseconds. */
  add(timeMs: number, bytes: number): void
  /** Bytes a second; null if it is not known yet. */
  perSecond(): number | null
}

interface Sample {
  readonly timeMs: number
  readonly bytes: number
}

/** The rate of the last ten seconds. */
export function createRate(): Rate {
  let samples: Sample[] = []
  let last: Sample | null = null
  return {
    add(timeMs, bytes) {
      // After an interruption the total falls. Earlier samples say nothing about the new connection.
      if (last !== null && bytes < last.bytes) samples = []
      last = { timeMs, bytes }
      if (timeMs - (samples.at(-1)?.timeMs ?? Number.NEGATIVE_INFINITY) < SAMPLE_EVERY_MS) return
      // One sample from before the window stays, so that the window is always covered.
      const kept = samples.findLastIndex((sample) => sample.timeMs <= timeMs - WINDOW_MS)
      samples = [...samples.slice(Math.max(0, kept)), last]
    },
    perSecond() {
      const first = samples[0]
      if (first === undefined || last === null || last.timeMs - first.timeMs < SAMPLE_EVERY_MS) return null
      return ((last.bytes - first.bytes) / (last.timeMs - first.timeMs)) * 1000
    },
  }
}

/** Such as `1.25 GB`: powers of 1000 and three digits. */
export function size(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB']
  let value = bytes
  let unit = 0
  // A value that would be rounded to 1000 belongs to the next unit.
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000
    unit++
  }
  return `${unit === 0 ? value : value.toPrecision(3)} ${units[unit]}`
}

export interface Transfer {
  readonly sent: number
  readonly total: number
  /** Bytes a second; null if it is not known yet. */
  readonly rate: number | null
}

/** The state of a file as text of at most `width` characters. */
export type Line = (width?: number) => string

/** Such as `[███···]  57 %   570 MB of 1.00 GB   11.2 MB/s   38 s left`. */
export function transferLine({ sent, total, rate }: Transfer): Line {
  const parts = ['', `${size(sent)} of ${size(total)}`]
  if (rate !== null) parts.push(`${size(Math.round(rate))}/s`)
  if (rate !== null && rate > 0 && sent < total) parts.push(`${duration((total - sent) / rate)} left`)
  return (width) => withBar(Math.min(1, sent / total), parts.join('   '), width)
}

export interface Phase {
  readonly phase: string
  readonly encodeProgress: number | null
}

/** Such as `encoding [███···]  57 %`. */
export function phaseLine({ phase, encodeProgress }: Phase): Line {
  if (encodeProgress === null) return () => phase
  return (width = Number.POSITIVE_INFINITY) =>
    `${phase} ${withBar(encodeProgress / 100, '', width - phase.length - 1)}`
}

export interface Display {
  /** Shows only this file from now on. */
  focus(name: string): void
  /** Shows the state of a file. The next state replaces it. */
  show(name: string, line: Line): void
  /** Prints a line that stays. */
  say(name: string, text: string): void
  /** Prints an error that stays. */
  fail(name: string, message: string): void
  end(): void
}

/** Draws on a terminal at most ten times a second. Elsewhere `show` prints at most one line every ten seconds. */
export function createDisplay(terminal: Terminal, now: () => number): Display {
  const isShown = terminal.isTTY === true
  // Without a terminal the first line comes after ten seconds: short uploads need none.
  let drawn = isShown ? Number.NEGATIVE_INFINITY : now()
  const { columns = 80 } = terminal
  let isDirty = false
  let inFocus: string | null = null
  const clear = () => {
    if (isDirty) terminal.write('\r\u001b[K')
    isDirty = false
  }
  return {
    focus(name) {
      inFocus = name
    },
    show(name, line) {
      const time = now()
      if (inFocus !== null && name !== inFocus) return
      if (time - drawn < (isShown ? DRAW_EVERY_MS : PRINT_EVERY_MS)) return
      drawn = time
      // A line that wraps could not be removed.
      const shown = cut(name, Math.min(LONGEST_NAME, Math.max(1, columns - SHORTEST_TEXT)))
      const text = line(columns - 1 - [...shown].length - 2)
      if (isShown) terminal.write(`\r\u001b[K${cut(`${shown}  ${text}`, columns - 1)}`)
      else terminal.write(`${name}: ${withoutBar(line())}\n`)
      isDirty = isShown
    },
    say(name, text) {
      clear()
      terminal.write(`${name}: ${text}\n`)
    },
    fail(name, message) {
      clear()
      terminal.write(`earshot: ${name}: ${message}\n`)
    },
    end: clear,
  }
}
