/**
 * Reads what a message says out of its content: text, parts in the shapes of the frameworks, or either as JSON text. A picture or a
 * file becomes a few words about it. Pure; the cost is linear in the size.
 */
import { CUT, readJson } from './cut-json.rules.ts'
import { isObject, type Members, roleNamed, roleOf } from './roles.rules.ts'

const isMembers = (value: unknown): value is Members => isObject(value) && !Array.isArray(value)

/** Contents within contents that are looked at, such as parts as JSON text in the text of a part. */
const MAX_DEPTH = 4

/** The words of a content. Calls of tools, their results and reasoning are none. */
export function wordsOf(content: unknown, depth = 0): string {
  if (typeof content === 'string') {
    const parts = depth < MAX_DEPTH ? partsIn(content) : null
    return parts === null ? content : wordsOf(parts, depth + 1)
  }
  if (Array.isArray(content)) return joined(content.map((part) => listedWords(part, depth)))
  return isMembers(content) ? partWords(content, depth) : ''
}

/** No framework puts lists into lists. Endless ones would overflow the stack. */
function listedWords(part: unknown, depth: number): string {
  if (!Array.isArray(part)) return wordsOf(part, depth)
  return depth < MAX_DEPTH ? wordsOf(part, depth + 1) : ''
}

const joined = (texts: readonly string[]): string => texts.filter((text) => text !== '').join('\n')

/** The parts of a JSON text that holds nothing else. What a customer typed may be JSON, too, and stays as it is. */
function partsIn(text: string): unknown {
  if (!/^\s*(?:\[\s*)?\{\s*"/.test(text)) return null
  const read = readJson(text)?.value
  const list = Array.isArray(read) ? read : [read]
  return list.length > 0 && list.every(isPart) ? list : null
}

const PARTS = new Set(
  (
    'text input_text output_text refusal image image_url input_image audio input_audio audio_url video video_url file input_file ' +
    'document blob uri media tool_use tool_call tool-call tool_result tool-result thinking reasoning redacted_thinking'
  ).split(' '),
)
/** Parts of Gemini have no type. */
const UNTYPED = new Set(['text', 'inlineData', 'inline_data', 'fileData', 'file_data', 'thought'])

/** Whether a value is a part of a message. */
export function isPart(value: unknown): value is Members {
  if (!isMembers(value) || 'role' in value) return false
  if (typeof value.type === 'string')
    return PARTS.has(value.type.toLowerCase()) && Object.keys(value).length > 1
  const names = Object.keys(value)
  return names.length > 0 && names.every((name) => UNTYPED.has(name))
}

/** Types of items and parts that tools and models make for themselves. */
const SILENT =
  /(?:^|[-_])(?:call|calls|use|result|results|call_output|call_response|reference)$|^(?:reasoning|thinking|redacted[-_]thinking|summary_text|tool|function|step-|source|data-|mcp_|executable_code)/i

/** Gemini and Bedrock have no types. */
const SILENT_MEMBER = /^(?:function|tool)_?(?:call|use|result|response)s?$/i

/** Whether an item is a call of a tool, its result, or reasoning. */
export function isSilent(item: Members): boolean {
  if (typeof item.type === 'string' && SILENT.test(item.type)) return true
  return (
    item.thought === true ||
    Object.keys(item).some((name) => SILENT_MEMBER.test(name) && isObject(item[name]))
  )
}

function partWords(part: Members, depth: number): string {
  // OpenInference wraps each part.
  const wrapped = part.message_content
  if (isMembers(wrapped)) return partWords(wrapped, depth)
  const { type, text, content, refusal } = part
  if (isSilent(part) || (type !== undefined && typeof type !== 'string')) return ''
  const media = mediaWords(part)
  if (media !== null) return media
  const said = [text, refusal, content].find((one) => typeof one === 'string' && one !== '')
  if (said !== undefined) return wordsOf(said, depth)
  return isObject(content) && depth < MAX_DEPTH ? wordsOf(content, depth + 1) : ''
}

/** `[image: image/png, 80 kB]`; null for a part that is no picture, sound or file. */
function mediaWords(part: Members): string | null {
  if (!isMedia(part)) return null
  const { type, bytes } = mediaIn(part, 0)
  const about = [type, bytes === undefined ? undefined : sizeWords(bytes)].filter(
    (word) => word !== undefined,
  )
  const stated = [type, part.modality, part.type].filter((one) => typeof one === 'string')
  const kind = stated.map((one) => /image|audio|video/i.exec(one)?.[0].toLowerCase()).find(Boolean) ?? 'file'
  return about.length === 0 ? `[${kind}]` : `[${kind}: ${about.join(', ')}]`
}

const MEDIA = /(?:^|[-_])(?:image|audio|video|file|document|blob|uri|media)(?:$|[-_])/i

function isMedia(part: Members): boolean {
  if (typeof part.type === 'string') return MEDIA.test(part.type)
  return ['inlineData', 'inline_data', 'fileData', 'file_data'].some((name) => name in part)
}

interface Media {
  readonly type?: string
  readonly bytes?: number
}

const DATA_URL = /^data:([\w.+-]+\/[\w.+-]+)?[^,]{0,200},/
const TYPE_NAMES = new Set(['mime_type', 'mimeType', 'media_type', 'mediaType', 'format'])
const DATA_NAMES = new Set([
  'data',
  'content',
  'image',
  'audio',
  'file',
  'file_data',
  'bytes',
  'url',
  'image_url',
])
const MIME = /^[\w.+-]{1,60}(?:\/[\w.+-]{1,80})?$/

/** What a part says about its data: the type, and how long it is in base64. */
function mediaIn(part: Members, depth: number): Media {
  let found: Media = {}
  for (const [name, value] of Object.entries(part)) {
    if (typeof value === 'string') {
      if (TYPE_NAMES.has(name) && MIME.test(value)) found = { ...found, type: value }
      else if (DATA_NAMES.has(name)) found = { ...dataIn(value), ...found }
    } else if (isMembers(value) && depth < 3) found = { ...mediaIn(value, depth + 1), ...found }
  }
  return found
}

function dataIn(value: string): Media {
  const url = DATA_URL.exec(value)
  if (url !== null) {
    const bytes = base64Bytes(value.length - url[0].length)
    return url[1] === undefined ? { bytes } : { type: url[1], bytes }
  }
  return value.length > 100 && BASE64.test(value.slice(0, 100)) ? { bytes: base64Bytes(value.length) } : {}
}

const BASE64 = /^[\w+/=-]+$/
const base64Bytes = (characters: number): number => Math.floor((characters * 3) / 4)

function sizeWords(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`
  return bytes < 1_000_000 ? `${Math.round(bytes / 1_000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}

/** Members that hold instructions for the model: never words of the customer. */
const INSTRUCTIONS =
  /^(?:system|system_?prompt|system_?message|system_?instructions?|instructions?|developer|preamble|tools?|tool_?choice|functions?)$/i
/** Members that say how something was called. */
const DETAILS =
  /^(?:model|model_?name|temperature|metadata|tags|config|callbacks|type|name|(?:.*_)?ids?|.*Id)$/i
/** Characters of JSON that stands for a message. */
const MAX_JSON = 10_000
const MAX_LEAVES_DEPTH = 64

/**
 * What a payload of an unknown shape says: its only text, or else its JSON, without instructions for the model and without pictures.
 * @returns null where it says nothing. Of a customer, details of the call are nothing
 */
export function guessedWords(value: unknown, role: 'user' | 'assistant'): string | null {
  const found: Found = { texts: [], values: 0, details: 0, isTooDeep: false }
  count(value, found, false, 0)
  if (found.isTooDeep) return CUT
  const [only, ...more] = found.texts
  if (only !== undefined && more.length === 0) return only
  const says = found.values > 0 || (role === 'assistant' && found.details > 0)
  if (!says) return null
  const json = JSON.stringify(value, shown)
  return json.length > MAX_JSON ? `${json.slice(0, MAX_JSON)} ${CUT}` : json
}

/** Whether a member is for the model alone: instructions by their name, or messages of their role. */
function isInstruction(name: string, member: unknown): boolean {
  if (INSTRUCTIONS.test(name)) return true
  return isMembers(member) && roleNamed(roleOf(member) ?? '') === 'instruction'
}

function shown(name: string, member: unknown): unknown {
  if (isInstruction(name, member)) return undefined
  return typeof member === 'string' && member.startsWith('data:')
    ? `[${dataIn(member).type ?? 'data'}]`
    : member
}

/** The texts, numbers and booleans of a payload, without instructions. */
interface Found {
  readonly texts: string[]
  values: number
  details: number
  isTooDeep: boolean
}

function count(value: unknown, found: Found, isDetail: boolean, depth: number): void {
  if (value === null || value === undefined || value === '') return
  if (depth > MAX_LEAVES_DEPTH) {
    found.isTooDeep = true
  } else if (Array.isArray(value)) {
    for (const item of value) if (!isInstruction('', item)) count(item, found, isDetail, depth + 1)
  } else if (isObject(value)) {
    for (const [name, member] of Object.entries(value))
      if (!isInstruction(name, member)) count(member, found, isDetail || DETAILS.test(name), depth + 1)
  } else if (isDetail) {
    found.details++
  } else if (typeof value !== 'string' || value.trim() !== '') {
    found.values++
    if (typeof value === 'string') found.texts.push(value)
  }
}
