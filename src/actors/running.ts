/**
 * The running mark: memory shared with the main thread, in which a worker thread writes which message it runs. If the thread hangs
 * or dies, the main thread reads the mark and blames the death on that message alone.
 *
 * A mark stands until the event loop is idle or another message is marked. So code that hangs has its mark. Code that a timer or a
 * request to a server resumed has none, because these mark nothing.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Tx } from '../platform/db/pool.ts'
import type { ActorKey } from './types.ts'

/** A message, named by its actor and number. */
export interface Running {
  readonly key: ActorKey
  readonly seq: number
}

export interface RunningMark {
  /** Marks the message that runs now. */
  set(message: Running): void
  /** Records that the thread ends for a reason that no message is to blame for. */
  blameNobody(): void
  /** Runs `work`, and everything that it starts, in the name of the message (null: of none). `markFailed` uses this name. */
  inNameOf<T>(message: Running | null, work: () => T): T
  /** Call this for an unhandled error: marks the message in whose name it was thrown, if it is known. */
  markFailed(): void
}

/** Bytes of the shared memory: a length, and a key with a number. */
const SIZE = 4 + 128
const LENGTH = 0
const NOBODY = '-'

/** Pass it to the worker thread, and read it with `readSharedMark`. */
export function createSharedMark(): SharedArrayBuffer {
  return new SharedArrayBuffer(SIZE)
}

/** The thread's side of the mark. Without `memory` no other thread can read it. */
export function createRunningMark(memory: SharedArrayBuffer = createSharedMark()): RunningMark {
  const length = new Int32Array(memory, 0, 1)
  const bytes = new Uint8Array(memory, 4)
  // `encodeInto` does not accept shared memory.
  const encoded = new Uint8Array(bytes.length)
  const encoder = new TextEncoder()
  const names = new AsyncLocalStorage<Running | null>()
  let clearing = false
  /** True once the thread is ending: later marks change nothing. */
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

/** Reads the mark after the thread has ended: the message that it ran, `nobody`, or null if it is unknown. */
export function readSharedMark(memory: SharedArrayBuffer): Running | 'nobody' | null {
  const length = Atomics.load(new Int32Array(memory, 0, 1), LENGTH)
  // Copies the bytes, because `decode` does not accept shared memory.
  const text = new TextDecoder().decode(new Uint8Array(memory, 4, length).slice())
  if (text === '') return null
  if (text === NOBODY) return 'nobody'
  const space = text.indexOf(' ')
  return { key: text.slice(0, space) as ActorKey, seq: Number(text.slice(space + 1)) }
}

/** Wraps `tx`: every answer to a statement calls `resumed` just before the awaiting code continues. */
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
  // Does not chain a new promise: a statement is sent only when it is awaited, and may also be a part of another one.
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
