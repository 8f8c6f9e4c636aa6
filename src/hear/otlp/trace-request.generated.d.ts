// The part of trace-request.generated.js that is used.
import type { Reader } from 'protobufjs/minimal.js'
import type { TraceRequest } from './model.ts'

declare const root: {
  readonly opentelemetry: {
    readonly proto: {
      readonly collector: {
        readonly trace: {
          readonly v1: { readonly ExportTraceServiceRequest: { decode(reader: Reader): TraceRequest } }
        }
      }
    }
  }
}
export default root
