/** Limits its heap, and prints what it then is. */
import { limitHeap } from '../../src/platform/lifecycle/heap.ts'

limitHeap(64 * 1024 ** 2, process.env)
console.log(JSON.stringify({ pid: process.pid, words: process.argv.slice(2), environment: process.env }))
