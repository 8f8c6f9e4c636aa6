import type { Tx } from './pool.ts'

/**
 * Makes COMMIT of this transaction wait for the disk, also on a pool whose commits do not (`redoable`). The log is written in order, so
 * everything that the transaction has seen is then on disk, too. Call it before something leaves the service that a crash of the
 * server must not undo. The transaction must write or lock a row, as every step of a turn does.
 */
export async function waitForDisk(tx: Tx): Promise<void> {
  await tx`
    select set_config('synchronous_commit', 'on', true)
    where current_setting('synchronous_commit') = 'off'`
}
