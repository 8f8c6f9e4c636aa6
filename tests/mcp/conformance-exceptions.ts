/**
 * Scenarios of the official conformance suite that the service does not pass, each with its reason. The suite checks a server that
 * offers fixtures (tools, prompts and resources of certain names). The service offers its own eight tools and nothing else.
 */
export type Revision = '2025-11-25' | '2026-07-28'

interface Exception {
  readonly reason: string
  readonly revisions: readonly Revision[]
  /** A whole scenario, or `scenario › check`. */
  readonly checks: readonly string[]
}

const BOTH: readonly Revision[] = ['2025-11-25', '2026-07-28']

export const EXCEPTIONS: readonly Exception[] = [
  {
    reason:
      'The service has no tool of this name. Its own calls are tested with the official clients in http.test.ts.',
    revisions: BOTH,
    checks: [
      'json-schema-2020-12',
      'tools-call-audio',
      'tools-call-embedded-resource',
      'tools-call-error',
      'tools-call-image',
      'tools-call-mixed-content',
      'tools-call-simple-text',
      'tools-call-with-progress',
    ],
  },
  {
    reason:
      'The service has no tool of this name. Questions to users are tested in http.test.ts and sessions.test.ts.',
    revisions: ['2025-11-25'],
    checks: ['elicitation-sep1034-defaults', 'elicitation-sep1330-enums', 'tools-call-elicitation'],
  },
  {
    reason:
      'The service has no tool of this name. Questions to users are tested in http.test.ts and approval.test.ts.',
    revisions: ['2026-07-28'],
    checks: [
      'input-required-result-basic-elicitation',
      'input-required-result-basic-list-roots',
      'input-required-result-basic-sampling',
      'input-required-result-capability-check',
      'input-required-result-multi-round',
      'input-required-result-multiple-input-requests',
      'input-required-result-request-state',
      'input-required-result-result-type',
      'input-required-result-tampered-state',
      'server-stateless › sep-2575-http-server-no-independent-requests-on-stream',
      'server-stateless › sep-2575-missing-capability-http-400',
      'server-stateless › sep-2575-server-no-log-without-loglevel',
      'server-stateless › sep-2575-server-rejects-undeclared-capability',
    ],
  },
  {
    reason: 'The service declares no prompts.',
    revisions: BOTH,
    checks: [
      'prompts-get-embedded-resource',
      'prompts-get-simple',
      'prompts-get-with-args',
      'prompts-get-with-image',
      'prompts-list',
    ],
  },
  {
    reason: 'The service declares no prompts and no resources.',
    revisions: ['2026-07-28'],
    checks: [
      'caching › sep-2549-prompts-list-caching-hints',
      'caching › sep-2549-resources-list-caching-hints',
      'caching › sep-2549-resources-templates-list-caching-hints',
      'input-required-result-non-tool-request',
    ],
  },
  {
    reason: 'The service declares no resources.',
    revisions: BOTH,
    checks: ['resources-list', 'resources-read-binary', 'resources-read-text', 'resources-templates-read'],
  },
  {
    reason: 'The service declares no resources.',
    revisions: ['2025-11-25'],
    checks: ['resources-subscribe', 'resources-unsubscribe'],
  },
  { reason: 'The service declares no completions.', revisions: BOTH, checks: ['completion-complete'] },
  {
    reason: 'The service sends no log messages and asks for no sampling; both are deprecated.',
    revisions: ['2025-11-25'],
    checks: ['logging-set-level', 'tools-call-sampling', 'tools-call-with-logging'],
  },
  {
    reason: 'An optional extension, which the service does not declare: its tools answer at once.',
    revisions: ['2026-07-28'],
    checks: [
      'tasks-capability-negotiation',
      'tasks-dispatch-and-envelope',
      'tasks-lifecycle',
      'tasks-mrtr-composition',
      'tasks-mrtr-input',
      'tasks-request-headers',
      'tasks-request-state-removal',
      'tasks-required-task-error',
      'tasks-wire-fields',
    ],
  },
  {
    reason: 'No tool of the service has arguments in headers.',
    revisions: ['2026-07-28'],
    checks: ['http-custom-header-server-validation'],
  },
]
