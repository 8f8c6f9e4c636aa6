/** Rules of WCAG 2.1, levels A and AA, as far as axe finds violations of them in a page. */
import { expect } from 'bun:test'
import type { Page } from 'playwright-core'

const AXE = Bun.file(Bun.fileURLToPath(import.meta.resolve('axe-core/axe.min.js')))

const HAS_AXE = `'axe' in window`

/** Colours have changed: a frame was drawn, and no transition runs. */
const SETTLED = `new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))
  .then(() => Promise.allSettled(document.getAnimations().map((one) => one.finished)))`

const WCAG = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']
/** The rules among them that look at colours. */
const OF_COLOURS = ['color-contrast', 'link-in-text-block']

/** Only what is asked for leaves the page: a whole result of axe is large. */
const violations = (runOnly: readonly string[]) => `${SETTLED}
  .then(() => axe.run(document, { runOnly: ${JSON.stringify(runOnly)}, resultTypes: ['violations'] }))
  .then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]))`

/** The page as it is has no violation. `rules`: tags or ids, all of one sort. */
export async function expectNoViolations(page: Page, rules: readonly string[] = WCAG): Promise<void> {
  // The policy of the page allows no inline script, so axe comes over the protocol of the browser, once for each load of the page.
  if (!(await page.evaluate<boolean>(HAS_AXE))) await page.evaluate(await AXE.text())
  expect(await page.evaluate<unknown>(violations(rules))).toEqual([])
}

/** The page has no violation in either colour at 390 pixels, to which it fits. The second colour changes nothing but colours. */
export async function expectAccessible(page: Page): Promise<void> {
  const before = page.viewportSize()
  await page.setViewportSize({ width: 390, height: 800 })
  await page.emulateMedia({ colorScheme: 'light' })
  await expectNoViolations(page)
  await page.emulateMedia({ colorScheme: 'dark' })
  await expectNoViolations(page, OF_COLOURS)
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)
  if (before !== null) await page.setViewportSize(before)
}
