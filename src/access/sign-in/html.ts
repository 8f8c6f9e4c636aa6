/** HTML of the sign-in pages. Every value that is not `Html` itself is escaped. Pure. */

export interface Html {
  readonly html: string
}

type Value = string | Html | null | readonly Html[]

/** A tagged template: `` html`<p>${name}</p>` ``. Null inserts nothing. */
export function html(parts: TemplateStringsArray, ...values: readonly Value[]): Html {
  return { html: parts.reduce((text, part, index) => text + render(values[index - 1] ?? null) + part) }
}

function render(value: Value): string {
  if (value === null) return ''
  if (typeof value === 'string') return Bun.escapeHTML(value)
  return 'html' in value ? value.html : value.map((one) => one.html).join('')
}

export interface Page {
  readonly status: number
  readonly title: string
  readonly body: Html
  /** Where forms of the page may lead besides this service, as sources of `form-action`. */
  readonly formTargets?: string
  readonly cookies?: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
}

/** `prefix`: the path of `PUBLIC_BASE_URL`, without a trailing slash. */
export function pageResponse({ status, title, body, formTargets, cookies, headers }: Page, prefix: string) {
  const text = html`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${title}</title>
    <link rel="stylesheet" href="${prefix}/sign-in/style.css">
  </head>
  <body>
    <main>
      <h1>${title}</h1>
      ${body}
    </main>
  </body>
</html>
`.html
  return withCookies(
    new Response(text, { status, headers: { ...headers, ...pageHeaders(formTargets) } }),
    cookies,
  )
}

/** 303 (RFC 9110, section 15.4.4): the browser goes on with GET. */
export function redirect(location: string, cookies: readonly string[] = []): Response {
  const headers = { location, 'cache-control': 'no-store', 'referrer-policy': 'same-origin' }
  return withCookies(new Response(null, { status: 303, headers }), cookies)
}

function withCookies(response: Response, cookies: readonly string[] = []): Response {
  for (const cookie of cookies) response.headers.append('set-cookie', cookie)
  return response
}

function pageHeaders(formTargets = ''): Record<string, string> {
  const policy = [
    "default-src 'none'",
    "style-src 'self'",
    `form-action 'self' ${formTargets}`.trim(),
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ]
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policy.join('; '),
    'cache-control': 'no-store',
    // Browsers send `Origin: null` with forms of pages that have no referrer at all.
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  }
}
