/**
 * Swagger UI from the files of `swagger-ui-dist`, which are part of the executable. It works without internet access
 * and sends input only to this service.
 *
 * It uses no inline script and no other host. The content security policy below enforces this.
 */
import favicon from 'swagger-ui-dist/favicon-32x32.png' with { type: 'file' }
import stylesheet from 'swagger-ui-dist/swagger-ui.css' with { type: 'file' }
import bundle from 'swagger-ui-dist/swagger-ui-bundle.js' with { type: 'file' }
import initializer from './docs.browser.js' with { type: 'text' }
import layout from './docs.css' with { type: 'text' }

/** Links are relative, so that the page works under any prefix. */
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

/** What the page may load. Swagger UI uses data URLs for icons and style attributes for sizes. */
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
