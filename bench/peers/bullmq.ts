/**
 * BullMQ: the free edition has no order per key (groups are a paid feature), so it uses one queue in which messages run
 * concurrently. It does less than the others and serves as a scale.
 */
import { Queue, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { countUntil, type Peer, type PeerOptions } from '../support/peer.ts'

const CONCURRENCY = 64
const BULK = 1_000
const REMOVED = { removeOnComplete: true, removeOnFail: true }

export async function createPeer({ redis: path, about }: PeerOptions): Promise<Peer> {
  const connection = new Redis({ path: path ?? '', maxRetriesPerRequest: null })
  const queue = new Queue('bench', { connection })
  const startWorker = async (handled: (data: { id: number; told: boolean }) => void) => {
    const worker = new Worker('bench', async () => {}, { connection, concurrency: CONCURRENCY })
    worker.on('completed', (job) => handled(job.data))
    worker.on('error', (error) => console.error('BullMQ:', error))
    await worker.waitUntilReady()
    return worker
  }
  return {
    name: 'BullMQ',
    about,
    async fill(keys, perKey) {
      // Storing is not measured, so only processing is synced.
      await connection.config('SET', 'appendfsync', 'no')
      for (let first = 0; first < keys * perKey; first += BULK) {
        const amount = Math.min(BULK, keys * perKey - first)
        const jobs = Array.from({ length: amount }, (_, index) => ({
          name: 'message',
          data: { key: (first + index) % keys, id: first + index, told: false },
          opts: REMOVED,
        }))
        await queue.addBulk(jobs)
      }
      await connection.config('SET', 'appendfsync', 'always')
    },
    drain: (total, limitMs) =>
      countUntil(total, limitMs, async (count) => {
        const worker = await startWorker(count)
        return () => worker.close(true)
      }),
    clear: async () => void (await connection.flushall()),
    async work(applied) {
      const worker = await startWorker(({ id, told }) => told && applied(id))
      return {
        send: async (key, id, told) => void (await queue.add('message', { key, id, told }, REMOVED)),
        stop: () => worker.close(true),
      }
    },
    async [Symbol.asyncDispose]() {
      await queue.close().catch(() => {})
      connection.disconnect()
    },
  }
}
