/**
 * `bun start`: installs missing dependencies, then runs the service in this process. It also works from a fresh clone, so
 * this file imports built-in modules only.
 */
import { installDependencies } from './install.ts'

installDependencies({ need: 'service' })
const { serve } = await import('../src/main.ts')
await serve(process.env)
