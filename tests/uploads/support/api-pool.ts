/**
 * Two API processes over one database and one object store, of which one after the other is killed at given points of the
 * traffic; the first is started again.
 *
 * The rule: a kill comes when so many bytes have gone to the processes, and none more go before it has happened. So it is always in
 * the middle of something.
 */
import { eventually } from '../../support/eventually.ts'
import type { Service, Services } from '../../support/process.ts'

export interface ApiPool {
  /** The port of a process that serves at this moment, each in its turn. */
  pick(): Promise<number>
  /** Called before so many bytes are sent to the port. */
  passing(port: number, bytes: number): Promise<void>
  /** Bytes that each process was sent: the first, the second, and the first after its restart. */
  readonly passed: readonly number[]
  /** How many processes were killed. */
  readonly kills: () => number
  stop(): Promise<void>
}

/** `killAfter`: bytes, ascending; the first is for the first process, the second for the second, when the first is back. */
export async function startApiPool(
  services: Services,
  env: Readonly<Record<string, string>>,
  killAfter: readonly [number, number],
): Promise<ApiPool> {
  const start = () => services.start({ env: { ...env, ROLE: 'api' } })
  const slots: (Service | null)[] = await Promise.all([start(), start()])
  const ports = slots.map((service) => portOf(service as Service))
  const passed = [0, 0]
  const [firstKill, secondKill] = killAfter
  let [total, turn, kills] = [0, 0, 0]
  let restart: Promise<void> = Promise.resolve()

  const kill = async (index: number) => {
    const service = slots[index] as Service
    slots[index] = null
    kills++
    await service.kill('SIGKILL')
  }
  const revive = async () => {
    const service = await start()
    ports.push(portOf(service))
    passed.push(0)
    slots[0] = service
  }
  const disturbances = [
    {
      after: firstKill,
      disturb: async () => {
        await kill(0)
        restart = revive()
      },
    },
    {
      after: secondKill,
      disturb: async () => {
        await restart
        await kill(1)
      },
    },
  ]
  let disturbed: Promise<void> = Promise.resolve()
  return {
    passed,
    kills: () => kills,
    pick: () =>
      eventually(() => {
        const ready = slots.filter((service) => service !== null)
        const service = ready[turn++ % Math.max(1, ready.length)]
        return service !== undefined && portOf(service)
      }),
    async passing(port, bytes) {
      total += bytes
      const next = disturbances[0]
      if (next !== undefined && total >= next.after) {
        disturbances.shift()
        disturbed = disturbed.then(next.disturb)
      }
      await disturbed
      const index = ports.indexOf(port)
      passed[index] = (passed[index] ?? 0) + bytes
    },
    async stop() {
      await restart
      await Promise.all(slots.map((service) => service?.kill()))
    },
  }
}

function portOf({ baseUrl }: Service): number {
  return Number(new URL(baseUrl).port)
}
