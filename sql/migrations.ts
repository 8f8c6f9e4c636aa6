/** Every migration, in order, embedded as text: the compiled binary carries them. Append; never edit or reorder. */
import type { Migration } from '../src/platform/db/migrate.ts'
import identity from './migrations/0001_identity.sql' with { type: 'text' }
import actors from './migrations/0002_actors.sql' with { type: 'text' }
import agents from './migrations/0003_agents.sql' with { type: 'text' }

export const MIGRATIONS: readonly Migration[] = [
  { number: 1, name: 'identity', source: identity },
  { number: 2, name: 'actors', source: actors },
  { number: 3, name: 'agents', source: agents },
]
