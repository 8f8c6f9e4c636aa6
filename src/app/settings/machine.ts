/** What follows the machine where no setting says otherwise: threads, processes, connections, and memory for each. */
import type { Capacity } from '../../kernel/config.ts'
import type { Machine } from '../../platform/lifecycle/machine.ts'

const MIB = 1024 ** 2
/** With less, a start with its own PostgreSQL would be ended by the system in the first load. `bench/small.ts` measures it. */
const USUAL_BYTES = 1_536 * MIB
/** Of a thread with its connections, and its share of the processes for texts and media. */
const THREAD_BYTES = 768 * MIB
const MAX_THREADS = 8
/** The engine collects garbage as if the machine had an eighth of the memory, or this much. */
const [HEAP_SHARE, LEAST_HEAP] = [8, 48 * MIB]

export function capacityOf({ processors, memoryBytes }: Machine): Capacity {
  if (memoryBytes >= USUAL_BYTES)
    return {
      workerThreads: Math.max(1, Math.min(MAX_THREADS, processors, Math.floor(memoryBytes / THREAD_BYTES))),
      databasePoolSize: 10,
      bodiesMb: 128,
      requestThreads: 2,
      textProcesses: 2,
      mediaSlots: 2,
      heapBytes: null,
      postgres: 'usual',
    }
  return {
    workerThreads: 1,
    databasePoolSize: 3,
    bodiesMb: 16,
    requestThreads: 1,
    textProcesses: 1,
    mediaSlots: 1,
    heapBytes: Math.max(LEAST_HEAP, Math.floor(memoryBytes / HEAP_SHARE)),
    postgres: 'small',
  }
}
