/**
 * `bun start`: installs what the lock file names where that is not there yet, then runs the service in this process.
 *
 * The rule: a fresh clone on a bare machine needs nothing else, so only built-in modules are imported up here.
 */
import { installDependencies } from './install.ts'

installDependencies({ need: 'service' })
const { serve } = await import('../src/main.ts')
await serve(process.env)
