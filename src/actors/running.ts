/**
 * Which message a worker thread runs at this moment, in memory that it shares with the main thread. When the thread hangs or dies, the
 * main thread reads it, and only that message is blamed for the death.
 *
 * The rule: a mark holds until the event loop has nothing more to do for the moment, or another message is marked. So code that hangs
 * has its mark, but code that was resumed by something that marks nothing (a timer, a request to a server) has none.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Tx } from '../platform/db/pool.ts'
import type { ActorKey } from './types.ts'

/** A message by its actor and number. */
export interface Running {
  readonly key: ActorKey
  readonly seq: number
}

export interface RunningMark {
  /** The message runs now. */
  set(message: Running): void
  /** The thread ends for a reason that no message is to blame for. */
  blameNobody(): void
  /** Does all of `work`, also what it does later, in the name of the message, or of none: for `markFailed`. */
  inNameOf<T>(message: Running | null, work: () => T): T
  /** To be called by an error that nobody handles: marks the message in whose name it was thrown, where one is known. */
  markFailed(): void
}

/** Bytes of the shared memory: a length, and a key with a number. */
const SIZE = 4 + 128
const LENGTH = 0
const NOBODY = '-'

export function createSharedMark(): SharedArrayBuffer {
  return new SharedArrayBuffer(SIZE)
}

/** The inside of the thread. Without memory the marks are not kept. */
export function createRunningMark(memory: SharedArrayBuffer = createSharedMark()): RunningMark {
  const length = new Int32Array(memory, 0, 1)
  const bytes = new Uint8Array(memory, 4)
  // `encodeInto` takes no shared memory.
  const encoded = new Uint8Array(bytes.length)
  const encoder = new TextEncoder()
  const names = new AsyncLocalStorage<Running | null>()
  let clearing = false
  /** Once the thread is known to end, what it still does changes nothing. */
  let isFinal = false
  const write = (text: string) => {
    if (isFinal) return
    Atomics.store(length, LENGTH, 0)
    const { written } = encoder.encodeInto(text, encoded)
    bytes.set(encoded)
    Atomics.store(length, LENGTH, written)
  }
  const clear = () => {
    clearing = false
    if (!isFinal) Atomics.store(length, LENGTH, 0)
  }
  const set = ({ key, seq }: Running) => {
    write(`${key} ${seq}`)
    if (clearing) return
    clearing = true
    setImmediate(clear)
  }
  return {
    set,
    blameNobody() {
      write(NOBODY)
      isFinal = true
    },
    inNameOf: (message, work) => names.run(message, work),
    markFailed() {
      const message = names.getStore() ?? null
      if (message !== null) write(`${message.key} ${message.seq}`)
      isFinal = message !== null
    },
  }
}

/** What the main thread reads when the thread has ended: the message that it ran, `nobody`, or null where that is not known. */
export function readSharedMark(memory: SharedArrayBuffer): Running | 'nobody' | null {
  const length = Atomics.load(new Int32Array(memory, 0, 1), LENGTH)
  // A copy: `decode` takes no shared memory either.
  const text = new TextDecoder().decode(new Uint8Array(memory, 4, length).slice())
  if (text === '') return null
  if (text === NOBODY) return 'nobody'
  const space = text.indexOf(' ')
  return { key: text.slice(0, space) as ActorKey, seq: Number(text.slice(space + 1)) }
}

/** `tx`, but every answer to a statement calls `resumed` just before the code that awaits it goes on. */
export function markResumes(tx: Tx, resumed: () => void): Tx {
  return new Proxy(tx, {
    apply(target, self, args) {
      const statement: unknown = Reflect.apply(target, self, args)
      return statement instanceof Promise ? markResume(statement, resumed) : statement
    },
  })
}

function markResume<T>(statement: Promise<T>, resumed: () => void): Promise<T> {
  const then = statement.then.bind(statement)
  // Not a promise after it: a statement is sent when it is awaited, and may also be a part of another one.
  const marked: typeof statement.then = (done, failed) =>
    then(
      done && ((value) => done(calling(resumed, value))),
      failed && ((error: unknown) => failed(calling(resumed, error))),
    )
  return Object.defineProperty(statement, 'then', { value: marked })
}

function calling<T>(resumed: () => void, value: T): T {
  resumed()
  return value
}
