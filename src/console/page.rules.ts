/** The HTML page of the console, which loads everything else. Pure. */
import type { ConsoleFiles } from './bundle.ts'

/** Where the console stands, below the path of `PUBLIC_BASE_URL`. */
export const CONSOLE_PATH = '/console'
export const ASSETS_PATH = `${CONSOLE_PATH}/assets`
/** The first request of the script. The browser sends it while the script is still on its way. */
const SESSION_PATH = '/v3/rest/session'
const PRELOADED = 'rel="preload" as="fetch" crossorigin'

/** @param prefix the path of `PUBLIC_BASE_URL`, without a trailing slash */
export function consolePage(
  { script, style }: Pick<ConsoleFiles, 'script' | 'style'>,
  prefix: string,
): string {
  const at = Bun.escapeHTML(prefix)
  return `<!doctype html>
<html lang="en" data-prefix="${at}">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>Earshot</title>
    <link rel="icon" href="data:,">
    <link ${PRELOADED} href="${at}${SESSION_PATH}">
    <link rel="stylesheet" href="${at}${ASSETS_PATH}/${style}">
    <script type="module" src="${at}${ASSETS_PATH}/${script}"></script>
  </head>
  <body>
    <div id="app"><p class="loading">Loading…</p></div>
    <noscript><p>The console needs JavaScript. The same data is in the <a href="${at}/docs">HTTP API</a>.</p></noscript>
  </body>
</html>
`
}

/** What the page may load: only from this service. Media may come from an object store, by signed URLs. */
export const CONSOLE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data: blob: https:",
    "media-src 'self' blob: https:",
    "connect-src 'self' https:",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'cache-control': 'no-store',
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
} as const
