/**
 * A session in memory that applies the decisions of the event rules as the store does. It is the model for tests of the
 * rules.
 */

import { type PreparedEvent, prepareEvent } from '../../src/hear/agents/events/fingerprint.ts'
import { compileRedaction, PRESENT_RULES, type RulesVersion } from '../../src/hear/agents/events/redaction.ts'
import { sanitizeEvent } from '../../src/hear/agents/events/sanitize.ts'
import {
  type DecideInput,
  decide,
  revisionKey,
  type StoredEvent,
  type StoredFingerprint,
} from '../../src/hear/agents/ingest/event.rules.ts'
import type { Event } from '../../src/hear/agents/model.ts'
import { type AgentSettings, DEFAULT_SETTINGS } from '../../src/hear/agents/settings.ts'

interface Row extends StoredEvent {
  readonly body: string
}

export class MemorySession {
  readonly rows = new Map<string, Row>()
  readonly #history = new Map<string, StoredFingerprint>()
  readonly #versions: AgentSettings[] = [DEFAULT_SETTINGS]

  /** Writes a new version of the settings. */
  changeSettings(change: Partial<AgentSettings>): void {
    this.#versions.push({ ...DEFAULT_SETTINGS, ...change })
  }

  /**
   * Sends one request. Returns the numbers of accepted, deduplicated and revised events. @throws AppError if the
   * request is refused; nothing is stored then
   */
  send(events: readonly Event[]): [number, number, number] {
    const input = this.inputFor(events)
    const decision = decide(input)
    for (const { event, fingerprint } of decision.superseded)
      this.#history.set(revisionKey(event.externalEventId, event.revision), {
        fingerprint,
        settingsVersion: this.#versions.length,
      })
    for (const prepared of [...decision.inserts, ...decision.revisions]) this.#store(prepared)
    return [decision.acceptedEventCount, decision.deduplicatedEventCount, decision.revisedEventCount]
  }

  inputFor(events: readonly Event[]): DecideInput {
    return {
      events: events.map((event) => this.prepare(event)),
      settingsVersion: this.#versions.length,
      stored: this.rows,
      occupied: new Map([...this.rows].map(([id, row]) => [row.sequence, id])),
      history: this.#history,
      refusal: () => null,
      rejudge: (index, version, rules) => this.prepare(events[index] as Event, version, rules).fingerprint,
    }
  }

  prepare(event: Event, version = this.#versions.length, rules: RulesVersion = PRESENT_RULES): PreparedEvent {
    const settings = this.#versions[version - 1] as AgentSettings
    return prepareEvent(sanitizeEvent(event, settings, compileRedaction(settings).under(rules)))
  }

  /** Loses an event, as retention does. */
  forget(externalEventId: string): void {
    this.rows.delete(externalEventId)
  }

  /** What is stored, independent of the order of storing. */
  snapshot(): readonly unknown[] {
    return [...this.rows]
      .map(([id, { body, sequence, revision, type, final }]) => ({
        id,
        body,
        sequence,
        revision,
        type,
        final,
      }))
      .sort((a, b) => a.sequence - b.sequence)
  }

  #store({ event, body, fingerprint }: PreparedEvent): void {
    const { externalEventId, sequence, revision, type, final } = event
    const previous = this.rows.get(externalEventId)
    if (previous !== undefined) this.#history.set(revisionKey(externalEventId, previous.revision), previous)
    const settingsVersion = this.#versions.length
    this.rows.set(externalEventId, { sequence, revision, type, final, body, fingerprint, settingsVersion })
  }
}
