/** The parser of the W3C's live WebVTT validator, as far as the tests use it. */
declare module 'webvtt-parser/parser.js' {
  export interface Node {
    readonly type: 'object' | 'text' | 'timestamp'
    readonly name?: string
    /** The annotation: of a voice its speaker. */
    readonly value: string
    readonly children: readonly Node[]
  }
  export interface Cue {
    readonly startTime: number
    readonly endTime: number
    readonly text: string
    readonly tree: Node
  }
  export class WebVTTParser {
    /** `entities`: character references, all of HTML's in `html-entities.json`. */
    constructor(entities: Readonly<Record<string, string>>)
    parse(
      input: string,
      mode: 'metadata' | 'subtitles/captions/descriptions',
    ): { readonly cues: readonly Cue[]; readonly errors: readonly { readonly message: string }[] }
  }
}
