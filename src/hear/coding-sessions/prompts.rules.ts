/**
 * The prompts that wait in Claude Code while it works. Pure, apart from its own state.
 *
 * A prompt is written when it is typed, and usually again when the agent takes it. Only one of the two is a message of the user:
 * the later one, because forks copy it. A prompt that the agent never took stays a message.
 */
import type { OpenEvent } from './open-event.rules.ts'

/** Prompts. Beyond it the oldest stays a message. */
const MAX_WAITING = 1_000

interface Prompt {
  readonly text: string
  readonly event: OpenEvent
  isTaken: boolean
}

export class Prompts {
  #waiting: Prompt[] = []

  add(text: string, event: OpenEvent): void {
    this.#waiting.push({ text, event, isTaken: false })
    if (this.#waiting.length > MAX_WAITING) this.#waiting.shift()
  }

  /** The agent takes the first waiting prompt, or that with the text. It will be written again, or never. */
  take(text: string | null): void {
    const prompt = this.#waiting.find((one) => !one.isTaken && (text === null || one.text === text))
    if (prompt !== undefined) prompt.isTaken = true
  }

  /** The agent goes on: what it has taken and not written again stays a message. */
  answer(): void {
    if (this.#waiting.some(({ isTaken }) => isTaken))
      this.#waiting = this.#waiting.filter(({ isTaken }) => !isTaken)
  }

  /** A message of the user. @returns the waiting prompts that it consists of */
  match(texts: readonly string[]): readonly OpenEvent[] {
    if (this.#waiting.length === 0) return []
    const single = this.#waiting.findIndex(({ text }) => texts.includes(text))
    if (single !== -1) return this.#waiting.splice(single, 1).map(({ event }) => event)
    // Several prompts are taken as one.
    let joined = ''
    for (const [index, { text }] of this.#waiting.entries()) {
      joined = index === 0 ? text : `${joined}\n${text}`
      if (texts.includes(joined)) return this.#waiting.splice(0, index + 1).map(({ event }) => event)
      if (!texts.some((one) => one.startsWith(joined))) break
    }
    return []
  }

  /** The user takes back the prompt with the text, or else all that wait. @returns them */
  withdraw(text: string | null): readonly OpenEvent[] {
    const one = this.#waiting.findIndex((prompt) => prompt.text === text)
    const withdrawn = one === -1 ? this.#waiting.splice(0) : this.#waiting.splice(one, 1)
    return withdrawn.map(({ event }) => event)
  }
}
