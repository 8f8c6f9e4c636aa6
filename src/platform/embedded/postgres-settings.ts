/** The settings of the embedded PostgreSQL. */
import type { Folders } from './runner.ts'

export interface PostgresSize {
  readonly maxConnections: number
  readonly size: 'usual' | 'small'
}

/** For little memory: fewer pages in memory, and no processes beside those of the connections. */
const SMALL = [
  'shared_buffers=32MB',
  'maintenance_work_mem=16MB',
  'autovacuum_max_workers=1',
  'max_parallel_workers_per_gather=0',
  'max_parallel_maintenance_workers=0',
  'io_method=sync',
]

/**
 * Settings go on the command line, not into a file, so that settings of a new version apply to an existing folder.
 * The service logs errors of statements. The server does not repeat them, because they contain data.
 */
export function serverSettings(
  { socket }: Folders,
  { maxConnections, size }: PostgresSize,
): readonly string[] {
  return [
    'listen_addresses=',
    `unix_socket_directories=${socket}`,
    'unix_socket_permissions=0700',
    'port=5432',
    `max_connections=${maxConnections}`,
    ...(size === 'small' ? SMALL : ['shared_buffers=128MB']),
    'fsync=on',
    'synchronous_commit=on',
    'jit=off',
    'timezone=UTC',
    'log_timezone=UTC',
    'logging_collector=off',
    'log_min_messages=log',
    'log_error_verbosity=terse',
  ]
}
