/** Bars by day. The same numbers stand in a table for whoever does not see the picture. */
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

export function Bars({ label, bars }: { readonly label: string; readonly bars: readonly Bar[] }) {
  const most = Math.max(1, ...bars.map(totalOf))
  return (
    <figure class="bars">
      <svg viewBox={`0 0 ${bars.length * WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        {bars.map((bar, index) => {
          let top = HEIGHT
          return PARTS.map((part) => {
            const height = (bar[part] / most) * HEIGHT
            top -= height
            return (
              <rect key={part} class={part} x={index * WIDTH + 1} y={top} width={WIDTH - 2} height={height}>
                <title>{`${dateOf(bar.day)}: ${number(bar[part])} ${part}`}</title>
              </rect>
            )
          })
        })}
      </svg>
      <figcaption class="quiet">
        {label}: {dateOf(bars[0]?.day ?? '')} to {dateOf(bars.at(-1)?.day ?? '')}, at most {number(most)} a
        day
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
                  <td>{number(bar.negative)}</td>
                  <td>{number(bar.other)}</td>
                  <td>{number(bar.positive)}</td>
                </tr>
              ))}
          </tbody>
        </table>
      </details>
    </figure>
  )
}

const totalOf = ({ negative, positive, other }: Bar) => negative + positive + other
