/** Bars by day. A bar leads to what it counts. The same numbers stand in a table for whoever does not see the picture. */
import { dateOf, number } from '../words.ts'

export interface Bar {
  /** Date, as `2026-01-02`. */
  readonly day: string
  readonly negative: number
  readonly positive: number
  readonly other: number
}

const HEIGHT = 120
const WIDTH = 12
const PARTS = ['negative', 'other', 'positive'] as const
/** From the bottom of a bar to its top. */
const WORDS = { negative: 'Negative', other: 'Other', positive: 'Positive' } as const

interface Props {
  readonly label: string
  readonly bars: readonly Bar[]
  /** By whose days the bars are. */
  readonly timeZone: string
  /** Leads to what is counted, of one part or of all. */
  readonly hrefOf: (day: string, part?: keyof Omit<Bar, 'day'>) => string
}

export function Bars({ label, bars, timeZone, hrefOf }: Props) {
  const most = Math.max(1, ...bars.map(totalOf))
  return (
    <figure class="bars">
      <svg viewBox={`0 0 ${bars.length * WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        {bars.map((bar, index) => {
          let top = HEIGHT
          // For the mouse. The keyboard and screen readers have the links of the table.
          return (
            <a key={bar.day} href={hrefOf(bar.day)} tabindex={-1}>
              <title>{`${dateOf(bar.day)}: ${number(totalOf(bar))}`}</title>
              <rect class="day" x={index * WIDTH} y={0} width={WIDTH} height={HEIGHT} />
              {PARTS.map((part) => {
                const height = (bar[part] / most) * HEIGHT
                top -= height
                return (
                  <rect
                    key={part}
                    class={part}
                    x={index * WIDTH + 1}
                    y={top}
                    width={WIDTH - 2}
                    height={height}
                  />
                )
              })}
            </a>
          )
        })}
      </svg>
      <p class="tags quiet">
        {PARTS.map((part) => (
          <span key={part}>
            <svg class="key" viewBox="0 0 12 12" aria-hidden="true">
              <rect class={part} width="12" height="12" />
            </svg>{' '}
            {WORDS[part]}
          </span>
        ))}
      </p>
      <figcaption class="quiet">
        {label}: {dateOf(bars[0]?.day ?? '')} to {dateOf(bars.at(-1)?.day ?? '')} (days in {timeZone}), at
        most {number(most)} a day
      </figcaption>
      <details>
        <summary>As a table</summary>
        <table class="fields">
          <thead>
            <tr>
              <th scope="col">Day</th>
              <th scope="col">Negative</th>
              <th scope="col">Other</th>
              <th scope="col">Positive</th>
            </tr>
          </thead>
          <tbody>
            {bars
              .filter((bar) => totalOf(bar) > 0)
              .map((bar) => (
                <tr key={bar.day}>
                  <th scope="row">{dateOf(bar.day)}</th>
                  {PARTS.map((part) => (
                    <td key={part}>
                      {bar[part] === 0 ? '0' : <a href={hrefOf(bar.day, part)}>{number(bar[part])}</a>}
                    </td>
                  ))}
                </tr>
              ))}
          </tbody>
        </table>
      </details>
    </figure>
  )
}

const totalOf = ({ negative, positive, other }: Bar) => negative + positive + other
