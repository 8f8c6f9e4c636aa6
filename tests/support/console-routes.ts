/** The pages of the console, read from its route table. */
import { Glob } from 'bun'

const TABLE = new URL('../../src/console/app/app.tsx', import.meta.url)
const ROUTE = /<Route\s+path=\{(?:BASE|`\$\{BASE\}([^`]*)`)\}/g

/** Paths below `/console` with names of parameters, such as `/calls/:id`; the overview is ''. */
export async function consoleRoutes(): Promise<readonly string[]> {
  const routes = [...(await Bun.file(TABLE).text()).matchAll(ROUTE)].map(([, path = '']) => path)
  if (routes.length === 0) throw new Error('the console has no route')
  return routes
}

/** The first route that the path belongs to: a literal segment goes before a parameter. */
export function routeOf(routes: readonly string[], path: string): string | undefined {
  const isOf = (route: string) => new Glob(route.replace(/:[a-z]+/gi, '*')).match(path)
  return routes.toSorted((a, b) => a.split(':').length - b.split(':').length).find(isOf)
}
