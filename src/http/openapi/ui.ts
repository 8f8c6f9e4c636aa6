/**
 * Swagger UI from the files of `swagger-ui-dist`, which the executable carries: it works without the internet, and
 * nothing that is typed into it goes anywhere but to this service.
 *
 * The rule: no inline script, no foreign address. The policy below makes the browser enforce it.
 */
import favicon from 'swagger-ui-dist/favicon-32x32.png' with { type: 'file' }
import stylesheet from 'swagger-ui-dist/swagger-ui.css' with { type: 'file' }
import bundle from 'swagger-ui-dist/swagger-ui-bundle.js' with { type: 'file' }
import initializer from './docs.browser.js' with { type: 'text' }
import layout from './docs.css' with { type: 'text' }

/** Addresses are relative, so that the page works below any prefix. */
export const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Earshot API</title>
    <link rel="stylesheet" href="docs/swagger-ui.css">
    <link rel="stylesheet" href="docs/docs.css">
    <link rel="icon" type="image/png" href="docs/favicon.png">
  </head>
  <body>
    <div id="swagger-ui"></div>
    <script src="docs/swagger-ui-bundle.js"></script>
    <script src="docs/initializer.js"></script>
  </body>
</html>
`

/** What the page may load. Swagger UI draws its icons from data URLs and sets sizes in style attributes. */
export function contentSecurityPolicy(apiOrigin: string | null): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    `connect-src 'self'${apiOrigin === null ? '' : ` ${apiOrigin}`}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

interface Asset {
  readonly type: string
  read(): Promise<Uint8Array>
}

const file = (type: string, path: string): Asset => ({ type, read: () => Bun.file(path).bytes() })

const embedded = (type: string, text: string): Asset => ({
  type,
  read: async () => new TextEncoder().encode(text),
})

export const ASSETS = {
  'swagger-ui.css': file('text/css; charset=utf-8', stylesheet),
  'swagger-ui-bundle.js': file('text/javascript; charset=utf-8', bundle),
  'favicon.png': file('image/png', favicon),
  'docs.css': embedded('text/css; charset=utf-8', layout),
  'initializer.js': embedded('text/javascript; charset=utf-8', initializer),
} as const satisfies Readonly<Record<string, Asset>>
