/** Small parts that many pages use. */
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import type { Schemas } from '../api.ts'
import { arrive } from '../place.ts'
import { ago, dateTime, labelOf, readWords } from '../words.ts'

/** When something was said, in the viewer's zone. */
export function Time({ at }: { readonly at: string }) {
  return (
    <time dateTime={at} title={dateTime(at)}>
      {ago(at)}
    </time>
  )
}

const SIGNS: Readonly<Record<string, string>> = {
  negative: '▼',
  positive: '▲',
  neutral: '●',
  resolved: '✓',
  unresolved: '✕',
  unclear: '?',
}

/** A word with a shape, so that colour is never the only difference. */
export function Tag({ value, tone }: { readonly value: string; readonly tone?: string | null | undefined }) {
  return (
    <span class={`tag ${tone ?? value}`}>
      {SIGNS[tone ?? value] === undefined ? null : <span aria-hidden="true">{SIGNS[tone ?? value]} </span>}
      {labelOf(value)}
    </span>
  )
}

/** Why something was not analysed; nothing if it was, or will be. */
export function Unread({ analysis }: { readonly analysis: Schemas['Analysis'] }) {
  return analysis.state === 'not_read' ? <Tag value={readWords(analysis) ?? ''} tone="unread" /> : null
}

/** The title of a page, and what stands beside it. The document gets the same title. */
export function Title({ text, children }: { readonly text: string; readonly children?: ComponentChildren }) {
  document.title = `${text} · Earshot`
  useEffect(arrive, [text])
  return (
    <div class="title">
      <h1 dir="auto" tabIndex={-1}>
        {text}
      </h1>
      {children}
    </div>
  )
}

interface Choice {
  readonly label: string
  readonly value: string
  readonly options: readonly string[]
  readonly onChange: (value: string) => void
}

/** One filter of a list. */
export function Select({ label, value, options, onChange }: Choice) {
  return (
    <label class="filter">
      <span>{label}</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        <option value="">All</option>
        {options.map((option) => (
          <option key={option} value={option}>
            {labelOf(option)}
          </option>
        ))}
      </select>
    </label>
  )
}

/** A number that leads to what it counts. */
export function Figure(props: {
  readonly label: string
  readonly value: string
  readonly href: string
  readonly note?: string
}) {
  return (
    <a class="figure" href={props.href}>
      <span class="label">{props.label}</span>
      <span class="value">{props.value}</span>
      {props.note === undefined ? null : <span class="quiet">{props.note}</span>}
    </a>
  )
}
