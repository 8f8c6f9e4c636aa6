/**
 * A small model checker. It visits every state that a system can reach, breadth first, and reports a broken rule
 * with the shortest path to it.
 *
 * There are two kinds of rules. Some things must never happen; a step reports them. And the goal must stay possible: from every
 * state that faults can lead to, it can be reached without any further fault. The second kind finds lost wake-ups without
 * modelling time.
 */

/** One step that a state allows. */
export interface Step<S> {
  readonly label: string
  readonly next: S
  /** A fault. The goal must be reachable without it. */
  readonly isFault?: boolean
  /** The rule that this step breaks. */
  readonly broken?: string
}

export interface Model<S> {
  readonly initial: S
  steps(state: S): readonly Step<S>[]
  /** Equal for states that differ only in irrelevant details, such as the names of the workers. */
  keyOf(state: S): string
  isGoal(state: S): boolean
}

interface Violation {
  readonly rule: string
  /** The labels of the steps from the initial state to the violation. */
  readonly trace: readonly string[]
}

export interface Exploration {
  readonly states: number
  readonly violation: Violation | null
}

/** Thrown if the model has too many states: a check must end in seconds. */
class TooManyStates extends Error {
  override readonly name = 'TooManyStates'
}

const MAX_STATES = 3_000_000
export const STUCK = 'the goal cannot be reached any more, although no further fault happens'

/** Explores all of `model`; stops at the first step that breaks a rule. */
export function explore<S>(model: Model<S>): Exploration {
  const graph = new Graph<S>(model)
  for (let id = 0; id < graph.size; id++) {
    const rule = graph.expand(id)
    if (rule !== null) return { states: graph.size, violation: { rule, trace: graph.trace(id, rule) } }
  }
  const stuck = graph.firstStuck()
  const violation = stuck === null ? null : { rule: STUCK, trace: graph.trace(stuck, null) }
  return { states: graph.size, violation }
}

class Graph<S> {
  readonly #ids = new Map<string, number>()
  readonly #states: (S | null)[] = []
  readonly #parents: number[] = []
  /** Steps that are not faults, as pairs: from, to. */
  readonly #edges: number[] = []
  readonly #goals: number[] = []

  constructor(private readonly model: Model<S>) {
    this.#idOf(model.initial, -1)
  }

  get size(): number {
    return this.#states.length
  }

  /** Adds the successors of a state. @returns the rule that a step from it breaks, or null */
  expand(id: number): string | null {
    const state = this.#states[id] as S
    for (const { next, isFault = false, broken } of this.model.steps(state)) {
      if (broken !== undefined) return broken
      const to = this.#idOf(next, id)
      if (!isFault) this.#edges.push(id, to)
    }
    this.#states[id] = null // only its key is needed from now on
    return null
  }

  /** The first state, breadth first, that cannot reach a goal without faults. */
  firstStuck(): number | null {
    const before = this.#predecessors()
    const canReach = new Uint8Array(this.size)
    const queue = [...this.#goals]
    for (const id of queue) canReach[id] = 1
    for (let id = queue.pop(); id !== undefined; id = queue.pop()) {
      for (let at = before.first[id]!; at < before.first[id + 1]!; at++) {
        const from = before.list[at]!
        if (canReach[from] === 1) continue
        canReach[from] = 1
        queue.push(from)
      }
    }
    const stuck = canReach.indexOf(0)
    return stuck === -1 ? null : stuck
  }

  /** The path to a state. It is followed again from the start, so that names stay the same along it. */
  trace(id: number, rule: string | null): readonly string[] {
    const keys = [...this.#ids.keys()]
    const path: number[] = []
    for (let at = id; at > 0; at = this.#parents[at]!) path.unshift(at)
    const labels: string[] = []
    let state = this.model.initial
    for (const to of path) {
      const step = this.model.steps(state).find(({ next }) => this.model.keyOf(next) === keys[to])
      if (step === undefined) throw new Error('the model does not repeat itself')
      labels.push(step.label)
      state = step.next
    }
    const last = this.model.steps(state).find(({ broken }) => broken !== undefined && broken === rule)
    return last === undefined ? labels : [...labels, last.label]
  }

  #idOf(state: S, parent: number): number {
    const key = this.model.keyOf(state)
    const known = this.#ids.get(key)
    if (known !== undefined) return known
    const id = this.#states.length
    if (id === MAX_STATES) throw new TooManyStates(`more than ${MAX_STATES} states`)
    this.#ids.set(key, id)
    this.#states.push(state)
    this.#parents.push(parent)
    if (this.model.isGoal(state)) this.#goals.push(id)
    return id
  }

  /** The reversed edges, grouped by their target: `list[first[id] … first[id + 1]]` lead to `id`. */
  #predecessors() {
    const first = new Uint32Array(this.size + 1)
    for (let at = 1; at < this.#edges.length; at += 2) first[this.#edges[at]! + 1]! += 1
    for (let id = 0; id < this.size; id++) first[id + 1]! += first[id]!
    const free = first.slice()
    const list = new Uint32Array(this.#edges.length / 2)
    for (let at = 0; at < this.#edges.length; at += 2) {
      const to = this.#edges[at + 1]!
      list[free[to]!] = this.#edges[at]!
      free[to]! += 1
    }
    return { first, list }
  }
}
