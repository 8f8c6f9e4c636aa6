/* Starts Swagger UI on the page /docs. It runs in the browser. */

const METHODS_WITH_EXAMPLES = ['post', 'put', 'patch']

/** An operation of the document by a request to it; undefined where there is none. */
function operationOf(document, request) {
  const method = request.method.toLowerCase()
  const { pathname } = new URL(request.url, location.href)
  if (!METHODS_WITH_EXAMPLES.includes(method)) return undefined
  const [path] = Object.keys(document.paths).filter((template) => {
    const pattern = template.replaceAll(/[.*+?^$()|[\]\\]/g, '\\$&').replaceAll(/\{\w+\}/g, '[^/]+')
    return document.paths[template][method] !== undefined && new RegExp(`${pattern}$`).test(pathname)
  })
  return path === undefined ? undefined : document.paths[path][method]
}

/** `record.externalId` of `body` with something at its end that no other execution has. */
function renew(body, member) {
  const steps = member.split('.')
  const last = steps.pop()
  const holder = steps.reduce((value, step) => value[step], body)
  const random = crypto.getRandomValues(new Uint32Array(1))[0].toString(36)
  holder[last] = `${holder[last]}-${Date.now().toString(36)}${random}`
}

/**
 * An example that is executed as it stands gets new values where they must be new, so that it can be executed again. What
 * was sent is shown below it.
 */
function withNewValues(request) {
  const document = window.ui?.specSelectors.specJson().toJS()
  if (document?.paths === undefined || typeof request.body !== 'string') return request
  const content = operationOf(document, request)?.requestBody?.content['application/json']
  const members = content?.['x-unique-members'] ?? []
  if (members.length === 0) return request
  try {
    const body = JSON.parse(request.body)
    if (JSON.stringify(body) !== JSON.stringify(content.example)) return request
    for (const member of members) renew(body, member)
    request.body = JSON.stringify(body, null, 2)
  } catch {
    // No JSON: the service says so.
  }
  return request
}

window.ui = SwaggerUIBundle({
  url: new URL('openapi.json', document.baseURI).href,
  dom_id: '#swagger-ui',
  deepLinking: true,
  displayRequestDuration: true,
  filter: true,
  persistAuthorization: true,
  requestInterceptor: withNewValues,
  tryItOutEnabled: true,
  validatorUrl: null,
})

/** Swagger UI puts the cursor into the last field of the dialog, which scrolls the others away. */
new MutationObserver((records) => {
  const added = records.flatMap(({ addedNodes }) => [...addedNodes])
  const dialog = added.find((node) => node instanceof Element && node.matches('.dialog-ux'))
  if (dialog === undefined) return
  dialog.querySelector('input')?.focus()
  dialog.querySelector('.modal-ux-content')?.scrollTo(0, 0)
}).observe(document.querySelector('#swagger-ui'), { childList: true, subtree: true })
