/** groupmq: first in, first out per group, on Redis. Its lock is a lease without a fence, so late writes of a handler succeed. */
import { Queue, Worker } from 'groupmq'
import { Redis } from 'ioredis'
import { inParallel } from '../support/measure.ts'
import { countUntil, type Peer, type PeerOptions } from '../support/peer.ts'

const CONCURRENCY = 64
const SENDERS = 500

export async function createPeer({ redis: path, about }: PeerOptions): Promise<Peer> {
  const redis = new Redis({ path: path ?? '', maxRetriesPerRequest: null })
  const queue = new Queue<{ id: number; told: boolean }>({
    redis,
    namespace: 'bench',
    keepCompleted: 0,
    keepFailed: 0,
  })
  const add = (key: number, id: number, told: boolean) =>
    queue.add({ groupId: `key-${key}`, data: { id, told } })
  const startWorker = (handled: (data: { id: number; told: boolean }) => void) => {
    const worker = new Worker({ queue, concurrency: CONCURRENCY, handler: async () => {} })
    worker.on('completed', (job) => handled(job.data))
    worker.on('error', (error) => console.error('groupmq:', error))
    void worker.run()
    return worker
  }
  return {
    name: 'groupmq',
    about,
    async fill(keys, perKey) {
      // Storing is not measured, so only processing is synced.
      await redis.config('SET', 'appendfsync', 'no')
      await inParallel(keys * perKey, SENDERS, async (index) => void (await add(index % keys, index, false)))
      await redis.config('SET', 'appendfsync', 'always')
    },
    drain: (total, limitMs) =>
      countUntil(total, limitMs, async (count) => {
        const worker = startWorker(count)
        return () => worker.close(1_000)
      }),
    clear: async () => void (await redis.flushall()),
    async work(applied) {
      const worker = startWorker(({ id, told }) => told && applied(id))
      return {
        send: async (key, id, told) => void (await add(key, id, told)),
        stop: () => worker.close(1_000),
      }
    },
    async [Symbol.asyncDispose]() {
      await queue.close().catch(() => {})
      redis.disconnect()
    },
  }
}
