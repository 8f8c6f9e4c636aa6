/** The contract of object stores for objects that arrive over many requests: one suite, run on both stores. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, spyOn, test } from 'bun:test'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ListMultipartUploadsCommand, ListObjectsV2Command } from '@aws-sdk/client-s3'
import fc from 'fast-check'
import { createFolderStore } from '../../src/platform/storage/folder.ts'
import type { IncomingWriter } from '../../src/platform/storage/incoming.ts'
import { createS3Store } from '../../src/platform/storage/s3.ts'
import type { ObjectStore } from '../../src/platform/storage/storage.ts'
import { eventually } from '../support/eventually.ts'
import { rounds } from '../support/rounds.ts'
import { startS3 } from '../support/s3/server.ts'
import { type Arrival, bytesAt, CONTENT_TYPE, Row, sha256At } from './support/arrival.ts'
import type { Transfer } from './support/transfer.ts'

// Generous for busy machines: the runner kills the S3 server together with a test that times out.
setDefaultTimeout(300_000)

const MIB = 1024 * 1024
/** S3 only; the folder has none. */
const PART = 8 * MIB
const NEVER = new AbortController().signal

interface Subject {
  readonly store: ObjectStore
  /** How another process opens the same store. */
  readonly transfer: Transfer['store']
  /** Remains of unpublished objects: names of files, uploads and objects other than keys. */
  leftovers(): Promise<readonly string[]>
  close(): Promise<void>
}

const scratch = mkdtempSync(join(tmpdir(), 'earshot-incoming-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

const folderOptions = { folder: join(scratch, 'media'), keyFile: join(scratch, 'keys', 'playback.key') }
const incomingFolder = join(folderOptions.folder, '.incoming')

async function openFolder(): Promise<Subject> {
  return {
    store: createFolderStore(folderOptions),
    transfer: { folder: folderOptions },
    leftovers: async () => (existsSync(incomingFolder) ? readdirSync(incomingFolder) : []),
    close: async () => {},
  }
}

async function openS3(): Promise<Subject> {
  const server = await startS3()
  const { bucket: Bucket } = server.config
  const store = createS3Store(server.config, join(scratch, 'spool'))
  return {
    store,
    transfer: { s3: server.config },
    async leftovers() {
      const { Uploads = [] } = await server.client.send(new ListMultipartUploadsCommand({ Bucket }))
      const { Contents = [] } = await server.client.send(new ListObjectsV2Command({ Bucket }))
      const names = Contents.map(({ Key = '' }) => Key).filter((key) => key.includes('.incoming'))
      return [...names, ...Uploads.map(({ Key = '' }) => Key)]
    },
    async close() {
      store.close()
      await server.stop()
    },
  }
}

const newKey = () => `recordings/${crypto.randomUUID()}/1/source`

/** Continues the object by this number of bytes. */
async function feed(writer: IncomingWriter, start: number, length: number, wrong = false): Promise<void> {
  for (const piece of bytesAt(start, length, wrong)) await writer.write(piece)
}

describe.each([
  // The folder buffers 512 KiB and records after 64 MiB; S3 takes parts of 8 MiB.
  [
    'folder',
    openFolder,
    { recorded: 136 * MIB + 3, killed: 96 * MIB + 1, runs: rounds(20, 60), largest: 4 * MIB },
  ],
  ['s3', openS3, { recorded: 5 * PART + 3, killed: 6 * PART + 1, runs: rounds(3, 6), largest: 20 * MIB }],
] as const)('incoming objects: %s', (name, open, volume) => {
  let subject: Subject
  let store: ObjectStore
  beforeAll(async () => {
    subject = await open()
    store = subject.store
  })
  afterAll(() => subject.close())

  const append = (key: string, row: Row, options: { alone?: boolean; held?: boolean } = {}) =>
    store.incoming.append(key, row.progress, row.options({ alone: true, ...options }))
  /** One request: from the current offset to `end`. */
  const send = async (key: string, row: Row, end: number, alone = true) => {
    const writer = await append(key, row, { alone })
    await feed(writer, row.progress.offset, end - row.progress.offset)
    return writer.flush()
  }
  const publish = (key: string, row: Row) => store.incoming.publish(key, row.whole, CONTENT_TYPE)
  const expectWhole = async (key: string, size: number) => {
    expect(await store.head(key)).toEqual({ size, contentType: CONTENT_TYPE })
    const hash = new Bun.CryptoHasher('sha256')
    for await (const chunk of await store.read(key)) hash.update(chunk)
    expect(hash.digest('hex')).toBe(sha256At(0, size))
  }
  const leftoversOf = async (key: string) => {
    const folder = `object-${new Bun.CryptoHasher('sha256').update(key).digest('hex')}`
    return (await subject.leftovers()).filter((name) => name === folder || name.startsWith(key))
  }

  test.each([1, 4_095, PART - 1, PART, PART + 1, 2 * PART])(
    '%d bytes in one request become an object only when published',
    async (size) => {
      const [key, row] = [newKey(), new Row(size)]
      expect(await send(key, row, size)).toBe(size)
      expect(row.progress.offset).toBe(size)
      expect(await store.head(key)).toBeNull()
      await publish(key, row)
      await expectWhole(key, size)
      expect(await leftoversOf(key)).toEqual([])
    },
  )

  test('an object that received nothing has 0 bytes', async () => {
    const key = newKey()
    await publish(key, new Row(0))
    await expectWhole(key, 0)
    expect(await leftoversOf(key)).toEqual([])
  })

  const CUTS: readonly [cut: number, size: number][] = [
    [1, 3 * PART + 1],
    [5 * MIB - 1, PART + 1],
    [5 * MIB, PART + 1],
    [PART - 1, PART + 1],
    [PART, 2 * PART + 1],
    [PART + 1, 2 * PART + 1],
    [2 * PART - 1, 2 * PART + 1],
    [2 * PART + 5 * MIB, 3 * PART + 1],
  ]
  test.each(CUTS)('the next request continues after a request that ended at %d bytes', async (cut, size) => {
    const [key, row] = [newKey(), new Row(size)]
    expect(await send(key, row, cut)).toBe(cut)
    expect(await send(key, row, size)).toBe(size)
    await publish(key, row)
    await expectWhole(key, size)
    expect(await leftoversOf(key)).toEqual([])
  })

  test('many short requests form one object', async () => {
    const size = PART + 30
    const [key, row] = [newKey(), new Row(size)]
    for (const end of [1, 2, 1_000, PART - 1, PART, PART + 1, PART + 29, size]) await send(key, row, end)
    await publish(key, row)
    await expectWhole(key, size)
    expect(await leftoversOf(key)).toEqual([])
  })

  test('an empty request changes nothing', async () => {
    const [key, row] = [newKey(), new Row(10)]
    expect(await send(key, row, 0)).toBe(0)
    await send(key, row, 4)
    expect(await send(key, row, 4)).toBe(4)
    await send(key, row, 10)
    await publish(key, row)
    await expectWhole(key, 10)
  })

  test('only unrecorded bytes are lost with their writer', async () => {
    const size = PART + 100
    const [key, row] = [newKey(), new Row(size)]
    await send(key, row, 70)
    const writer = await append(key, row)
    await feed(writer, 70, 20, true)
    await writer.abandon()
    expect(row.progress.offset).toBe(70)
    await send(key, row, size)
    await publish(key, row)
    await expectWhole(key, size)
  })

  test('progress is recorded in order while bytes arrive, and a writer can resume from each record', async () => {
    const size = volume.recorded
    const [key, row] = [newKey(), new Row(size)]
    const writer = await append(key, row)
    await feed(writer, 0, size - 1)
    // The disk may be slower than the sender.
    await eventually(() => row.offsets.length > 0)
    expect(row.progress.offset).toBeLessThanOrEqual(size - 1)
    // As in a crash, the writer is never closed.
    await send(key, row, size, false)
    expect(row.offsets).toEqual(row.offsets.toSorted((a, b) => a - b))
    await writer.abandon()
    await publish(key, row)
    await expectWhole(key, size)
  })

  test('a slow sender loses little, too', async () => {
    const [key, row] = [newKey(), new Row(1_000)]
    const writer = await append(key, row)
    let later = 0
    const { now } = performance
    const clock = spyOn(performance, 'now').mockImplementation(() => now.call(performance) + later)
    try {
      for (const end of [10, 11, 12]) {
        later += 60_000
        await feed(writer, row.progress.offset, end - row.progress.offset)
        await eventually(() => row.progress.offset === end)
      }
    } finally {
      clock.mockRestore()
    }
    await send(key, row, 1_000, false)
    await writer.abandon()
    await publish(key, row)
    await expectWhole(key, 1_000)
    expect(await leftoversOf(key)).toEqual([])
  })

  test('an older writer of another process continues without effect', async () => {
    const size = 2 * PART + 50
    const [key, row] = [newKey(), new Row(size)]
    await send(key, row, PART + 10)
    const zombie = await append(key, row)
    await feed(zombie, PART + 10, 20, true)
    const successor = await append(key, row, { alone: false })
    await feed(successor, PART + 10, 15)
    await feed(zombie, PART + 30, 20, true)
    expect(await successor.flush()).toBe(PART + 25)
    // A writer that starts now from a state it read long ago.
    await send(key, row, size - 1)
    await feed(zombie, PART + 50, PART, true).catch(() => {})
    await expect(zombie.flush()).rejects.toThrow('superseded')
    await send(key, row, size)
    await publish(key, row)
    await expectWhole(key, size)
    expect(await leftoversOf(key)).toEqual([])
  })

  test.each([
    ['goes on to send parts', PART],
    ['ends', 30],
  ])('an older writer that has sent parts and %s is never seen', async (_, more) => {
    const size = 3 * PART + 50
    const [key, row] = [newKey(), new Row(size)]
    const zombie = await append(key, row)
    await feed(zombie, 0, 2 * PART + 5)
    if (name === 's3') await eventually(() => row.progress.offset === 2 * PART)
    const from = row.progress.offset
    const successor = await append(key, row, { alone: false })
    await feed(successor, from, 3 * PART + 20 - from)
    await successor.flush()
    await feed(zombie, 2 * PART + 5, more, true).catch(() => {})
    await zombie.flush().catch(() => {})
    await send(key, row, size - 1)
    await send(key, row, size)
    await publish(key, row)
    await expectWhole(key, size)
    expect(await leftoversOf(key)).toEqual([])
  })

  test('a writer after an empty successor is unaffected by the older writer', async () => {
    const size = PART + 50
    const [key, row] = [newKey(), new Row(size)]
    await send(key, row, 10)
    const zombie = await append(key, row)
    const successor = await append(key, row, { alone: false })
    await successor.flush()
    const next = await append(key, row)
    await feed(next, 10, 1_000_000)
    await feed(zombie, 10, 2_000_000, true)
    await next.flush()
    await zombie.flush().catch(() => {})
    await send(key, row, size)
    await publish(key, row)
    await expectWhole(key, size)
  })

  test('an older writer superseded before its first byte has no effect either', async () => {
    const size = PART + 5
    const [key, row] = [newKey(), new Row(size)]
    const zombie = await append(key, row)
    await send(key, row, 7, false)
    await feed(zombie, 0, size, true).catch(() => {})
    await expect(zombie.flush()).rejects.toThrow('superseded')
    await send(key, row, size)
    await publish(key, row)
    await expectWhole(key, size)
    expect(await leftoversOf(key)).toEqual([])
  })

  test('bytes sent before a lost record do not block the next writer', async () => {
    const size = PART + 100
    const [key, row] = [newKey(), new Row(size)]
    await send(key, row, 70)
    const options = row.options({ alone: true })
    const record: typeof options.record = async (progress) => {
      if (progress.offset > 70) throw new Error('the process has ended')
      return options.record(progress)
    }
    const writer = await store.incoming.append(key, row.progress, { ...options, record })
    await feed(writer, 70, 20)
    await writer.flush().catch(() => {})
    expect(row.progress.offset).toBe(70)
    await send(key, row, 80)
    await send(key, row, size)
    await publish(key, row)
    await expectWhole(key, size)
    expect(await leftoversOf(key)).toEqual([])
  })

  // The folder records once, and the record counts, whenever another process reads it.
  const SENT_AFTER_RECORDS: readonly [number, string, number][] = [
    [1, 'a tail', 30],
    [2, 'the last part', 100],
  ]
  test.each(name === 's3' ? SENT_AFTER_RECORDS : [])(
    'a writer superseded after its record %d sends %s without effect',
    async (slowRecord, _, end) => {
      const size = 100
      const [key, row] = [newKey(), new Row(size)]
      const [learned, late] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const options = row.options({ alone: true })
      let records = 0
      const record: typeof options.record = async (progress) => {
        await options.record(progress)
        if (++records !== slowRecord) return
        late.resolve()
        await learned.promise
      }
      const zombie = await store.incoming.append(key, row.progress, { ...options, record })
      await feed(zombie, 0, end, true)
      const ending = zombie.flush().catch(() => {})
      await late.promise
      expect(await send(key, row, end, false)).toBe(end)
      learned.resolve()
      await ending
      if (end < size) await send(key, row, size)
      await publish(key, row)
      await expectWhole(key, size)
      expect(await leftoversOf(key)).toEqual([])
    },
  )

  test('held bytes are recorded only by flush', async () => {
    const size = 2 * PART + 2
    const [key, row] = [newKey(), new Row(size)]
    const bad = await append(key, row, { held: true })
    await feed(bad, 0, 2 * PART + 1, true)
    expect(row.progress.offset).toBe(0)
    await bad.abandon()
    expect([row.progress.offset, row.parts.length]).toEqual([0, 0])
    const good = await append(key, row, { held: true })
    await feed(good, 0, 2 * PART + 1)
    expect(await good.flush()).toBe(2 * PART + 1)
    await send(key, row, size)
    await publish(key, row)
    await expectWhole(key, size)
    expect(await leftoversOf(key)).toEqual([])
  })

  test('a refused record fails the writer, and its bytes never appear', async () => {
    const size = PART + 9
    const [key, row] = [newKey(), new Row(size)]
    await send(key, row, 5)
    const refused = { ...row.options({ alone: true }), record: () => Promise.reject(new Error('cancelled')) }
    const writer = await store.incoming.append(key, row.progress, refused)
    const writing = feed(writer, 5, size - 5, true).then(() => writer.flush())
    await expect(writing).rejects.toThrow('cancelled')
    await writer.abandon()
    await send(key, row, size)
    await publish(key, row)
    await expectWhole(key, size)
  })

  test('a chunk beyond the size of the object is refused as a whole', async () => {
    const [key, row] = [newKey(), new Row(10)]
    const writer = await append(key, row)
    await feed(writer, 0, 9)
    await expect(writer.write(new Uint8Array(2))).rejects.toThrow(RangeError)
    expect(await writer.flush()).toBe(9)
    await send(key, row, 10)
    await publish(key, row)
    await expectWhole(key, 10)
  })

  test('publish may be repeated after success and called twice at a time', async () => {
    const size = PART + 1
    const [key, row] = [newKey(), new Row(size)]
    await send(key, row, size)
    await Promise.all([publish(key, row), publish(key, row)])
    await publish(key, row)
    await expectWhole(key, size)
    expect(await leftoversOf(key)).toEqual([])
  })

  test('publish of a discarded object rejects and creates nothing', async () => {
    const [key, row] = [newKey(), new Row(20)]
    await send(key, row, 20)
    await store.incoming.discard(key, row.progress.resumeState)
    await expect(publish(key, row)).rejects.toThrow()
    await publish(key, row).catch(() => {})
    expect(await store.head(key)).toBeNull()
  })

  test('discard removes all received bytes; it may be repeated, or come first', async () => {
    const [key, row] = [newKey(), new Row(3 * PART)]
    await store.incoming.discard(key, null)
    await send(key, row, PART + 4)
    await send(key, row, PART + 9, false)
    const crashed = await append(key, row)
    await feed(crashed, PART + 9, PART)
    await crashed.abandon()
    await store.incoming.discard(key, row.progress.resumeState)
    expect(await leftoversOf(key)).toEqual([])
    await store.incoming.discard(key, row.progress.resumeState)
    expect(await store.head(key)).toBeNull()
  })

  test('discard of an unrecorded object leaves nothing behind', async () => {
    const [key, row] = [newKey(), new Row(3 * PART)]
    const lost = {
      ...row.options({ alone: true }),
      record: () => Promise.reject(new Error('the database is gone')),
    }
    const writer = await store.incoming.append(key, row.progress, lost)
    await feed(writer, 0, 9)
    await writer.flush().catch(() => {})
    expect((await leftoversOf(key)).length).toBe(1)
    await store.incoming.discard(key, null)
    expect(await leftoversOf(key)).toEqual([])
  })

  test('discard of a published object changes nothing', async () => {
    const [key, row] = [newKey(), new Row(30)]
    await send(key, row, 30)
    await publish(key, row)
    await store.incoming.discard(key, row.progress.resumeState)
    await expectWhole(key, 30)
  })

  test('a record that does not match its parts is refused', async () => {
    const [key, row] = [newKey(), new Row(30)]
    await send(key, row, 30)
    const { parts, resumeState } = row.whole
    await expect(
      store.incoming.publish(key, { offset: 31, resumeState, parts }, CONTENT_TYPE),
    ).rejects.toThrow('record')
    expect(await store.head(key)).toBeNull()
  })

  test('a local file holds the object until it is released', async () => {
    const [key, row] = [newKey(), new Row(PART + 3)]
    await send(key, row, PART + 3)
    await publish(key, row)
    const folder = mkdtempSync(join(scratch, 'local-'))
    const { path, release } = await store.localFile(key, folder, NEVER)
    expect(new Bun.CryptoHasher('sha256').update(readFileSync(path)).digest('hex')).toBe(
      sha256At(0, PART + 3),
    )
    await release()
    expect(readdirSync(folder)).toEqual([])
    await expectWhole(key, PART + 3)
    const reason = new Error('the turn is over')
    await expect(store.localFile(key, folder, AbortSignal.abort(reason))).rejects.toBe(reason)
    await expect(store.localFile(newKey(), folder, NEVER)).rejects.toMatchObject({ name: 'ObjectMissing' })
    expect(readdirSync(folder)).toEqual([])
  })

  test('a killed process loses only unrecorded bytes, and another process continues', async () => {
    const size = volume.killed
    const [key, row] = [newKey(), new Row(size)]
    for (const least of [1, PART, size / 2]) {
      const child = spawn({
        store: subject.transfer,
        keys: [key],
        size,
        progress: row.progress,
        alone: least === 1,
      })
      for await (const line of linesOf(child.stdout)) {
        if (line.record !== undefined) row.take(line.record)
        if (row.progress.offset >= least) child.kill('SIGKILL')
      }
      await child.exited
      expect(row.progress.offset).toBeGreaterThan(0)
    }
    if (row.progress.offset < size) await send(key, row, size, false)
    await publish(key, row)
    await expectWhole(key, size)
    expect(await leftoversOf(key)).toEqual([])
  })

  test('memory grows with neither the object size nor the number of writers', async () => {
    const growthOf = async (keys: readonly string[], size: number) => {
      const progress = { offset: 0, resumeState: null }
      const child = spawn({ store: subject.transfer, keys, size, progress, alone: true })
      let growth = Number.POSITIVE_INFINITY
      for await (const line of linesOf(child.stdout)) growth = line.growth ?? growth
      expect(await child.exited).toBe(0)
      return growth
    }
    // Whoever keeps a whole object also keeps many, which a server in Python receives in half of the time.
    if (rounds(name === 'folder', true)) expect(await growthOf([newKey()], 128 * MIB)).toBeLessThan(112 * MIB)
    expect(await growthOf(Array.from({ length: 16 }, newKey), 10 * MIB)).toBeLessThan(128 * MIB)
  })

  /** What may happen next to an object, in bytes. */
  const step = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ kind: fc.constant('write' as const), bytes: fc.nat(volume.largest / 4) }),
    },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('write' as const), bytes: fc.nat(9) }) },
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constantFrom('flush', 'abandon', 'crash', 'take over', 'hold') }),
    },
  )

  test('any split into requests, with crashes and successors, yields the same bytes', async () => {
    const property = async (size: number, steps: readonly { kind: string; bytes?: number }[]) => {
      const [key, row] = [newKey(), new Row(size)]
      const dropped: IncomingWriter[] = []
      let held = false
      let alone = true
      let writer: IncomingWriter | null = null
      let at = 0
      const next = async () => {
        writer = await append(key, row, { alone, held })
        alone = true
        at = row.progress.offset
        return writer
      }
      for (const { kind, bytes = 0 } of steps) {
        const current: IncomingWriter = writer ?? (await next())
        if (kind === 'write') {
          const length = Math.min(bytes, size - at)
          await feed(current, at, length)
          at += length
          continue
        }
        held = kind === 'hold'
        if (kind === 'flush' || kind === 'hold') expect(await current.flush()).toBe(at)
        else if (kind === 'abandon') await current.abandon()
        else dropped.push(current)
        alone = kind !== 'crash' && kind !== 'take over'
        writer = null
        // The older writer still runs, and its bytes must not appear.
        if (kind === 'take over') {
          await next()
          await feed(current, at, Math.min(1_000, size - at), true).catch(() => {})
        }
      }
      await (writer as IncomingWriter | null)?.flush()
      await send(key, row, size, alone)
      await Promise.all(dropped.map((each) => each.flush().catch(() => each.abandon())))
      await publish(key, row)
      await expectWhole(key, size)
      expect(await leftoversOf(key)).toEqual([])
      await store.delete([key])
    }
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: volume.largest }),
        fc.array(step, { maxLength: 20 }),
        property,
      ),
      { numRuns: volume.runs, endOnFailure: true },
    )
  })

  if (name === 'folder') {
    test('a file shorter than its record is an error, not an object', async () => {
      const [key, row] = [newKey(), new Row(100)]
      await send(key, row, 90)
      const [folder = ''] = await leftoversOf(key)
      const [file = ''] = readdirSync(join(incomingFolder, folder))
      truncateSync(join(incomingFolder, folder, file), 80)
      await expect(append(key, row)).rejects.toThrow('has lost 10 of the bytes')
      await send(key, row, 100, false)
      await expect(publish(key, row)).rejects.toThrow('has lost 10 of the bytes')
      await publish(key, row).catch(() => {})
      expect(await store.head(key)).toBeNull()
    })

    test('only the recorded bytes of a longer file count', async () => {
      const [key, row] = [newKey(), new Row(100)]
      await send(key, row, 100)
      const [folder = ''] = await leftoversOf(key)
      const [file = ''] = readdirSync(join(incomingFolder, folder))
      truncateSync(join(incomingFolder, folder, file), 120)
      await publish(key, row)
      await expectWhole(key, 100)
    })

    test('a sweep deletes what is old and belongs to no waiting upload', async () => {
      const rows = [new Row(10), new Row(10)] as const
      const keys = [newKey(), newKey()] as const
      for (const at of [0, 1] as const) await send(keys[at], rows[at], 5)
      const put = join(incomingFolder, crypto.randomUUID())
      await Bun.write(put, 'x')
      // The age of the directory entry counts, not that of the content, which a link shares with a file of any age.
      utimesSync(put, 0, 0)
      expect(await store.sweep(new Date(0), [], NEVER)).toBe(0)
      expect(existsSync(put)).toBe(true)
      expect(await store.sweep(new Date(Date.now() + 1_000), [keys[0]], NEVER)).toBeGreaterThanOrEqual(2)
      expect(existsSync(put)).toBe(false)
      expect([(await leftoversOf(keys[0])).length, (await leftoversOf(keys[1])).length]).toEqual([1, 0])
      await send(keys[0], rows[0], 10)
      await publish(keys[0], rows[0])
      await expectWhole(keys[0], 10)
    })
  }
})

function spawn(arrival: Arrival) {
  return Bun.spawn(
    [process.execPath, join(import.meta.dir, 'support', 'arrival.ts'), JSON.stringify(arrival)],
    { stdin: 'ignore', stdout: 'pipe', stderr: 'inherit' },
  )
}

async function* linesOf(output: ReadableStream<Uint8Array>) {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of output) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) yield JSON.parse(line) as Partial<{ record: Row['whole']; growth: number }>
  }
}
