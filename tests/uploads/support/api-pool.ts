/**
 * Two API processes that share one database and one object store. Each is killed at a given point of the traffic; the first is then
 * started again.
 *
 * A kill comes once a given number of bytes has been sent to the processes. No more bytes are sent until the process is dead, so the
 * kill always interrupts a transfer.
 */
import { eventually } from '../../support/eventually.ts'
import type { Service, Services } from '../../support/process.ts'

export interface ApiPool {
  /** The port of a process that is ready; the processes take turns. */
  pick(): Promise<number>
  /** To be called before this number of bytes is sent to the port. */
  passing(port: number, bytes: number): Promise<void>
  /** Bytes that each process was sent: the first, the second, and the first after its restart. */
  readonly passed: readonly number[]
  /** How many processes were killed. */
  readonly kills: () => number
  stop(): Promise<void>
}

/** `killAfter`: bytes, ascending. The first kill hits the first process; the second hits the other, once the first is back. */
export async function startApiPool(
  services: Services,
  env: Readonly<Record<string, string>>,
  killAfter: readonly [number, number],
): Promise<ApiPool> {
  const start = () => services.start({ env: { ...env, ROLE: 'api' } })
  const processes: (Service | null)[] = await Promise.all([start(), start()])
  const ports = processes.map((service) => portOf(service as Service))
  const passed = [0, 0]
  const [firstKill, secondKill] = killAfter
  let [total, turn, kills] = [0, 0, 0]
  let restart: Promise<void> = Promise.resolve()

  const kill = async (index: number) => {
    const service = processes[index] as Service
    processes[index] = null
    kills++
    await service.kill('SIGKILL')
  }
  const revive = async () => {
    const service = await start()
    ports.push(portOf(service))
    passed.push(0)
    processes[0] = service
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
        const ready = processes.filter((service) => service !== null)
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
      await Promise.all(processes.map((service) => service?.kill()))
    },
  }
}

function portOf({ baseUrl }: Service): number {
  return Number(new URL(baseUrl).port)
}
