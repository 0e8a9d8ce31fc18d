/**
 * Blanks what was said in a body: the texts of messages, answers, arguments and results. Names of
 * members, types and ids stay, so that a client can still parse it. Lengths stay, too.
 *
 * Understands JSON, lines of JSON, events of a stream (`data: …`), and HTTP/1.1 with and without
 * chunks; every other line is blanked. The pieces of a stream come one after the other, cut
 * anywhere, as texts with one character for each byte.
 *
 * Not promised: numbers that are not texts stay.
 */
export class ContentMask {
  readonly #levels: Level[] = []
  #state: State = 'line start'
  #isHttp = false
  /** Name of the member that comes next, or that was read last. */
  #name = ''
  #isName = false
  #isHidden = false
  #isEscaped = false
  /** The end of a head or frame so far. */
  #end = ''

  /** `hidesAll`: every text is content, as in the arguments of a tool. */
  constructor(readonly options: { readonly hidesAll: boolean }) {}

  piece(text: string): string {
    let masked = ''
    let [from, isContent] = [0, false]
    for (let at = 0; at <= text.length; at++) {
      const isNext = at < text.length && this.#isContentAt(text, at)
      if (isNext === isContent && at < text.length) continue
      const part = text.slice(from, at)
      masked += isContent ? blankText(part) : part
      ;[from, isContent] = [at, isNext]
    }
    return masked
  }

  #isContentAt(text: string, at: number): boolean {
    const character = text[at] ?? ''
    if (this.#state === 'line start' && !/\s/.test(character))
      this.#state = this.#startOf(text.slice(at, at + START_MAX))
    switch (this.#state) {
      case 'line start':
        return false
      case 'text':
      case 'kept':
        if (character === '\n') this.#state = 'line start'
        return character !== '\n' && this.#state === 'text'
      case 'data':
        // The colon and a space; what follows is a line of its own.
        if (character === ':') this.#state = 'line start'
        return false
      case 'head':
      case 'frame':
        this.#end = (this.#end + character).slice(-4)
        if (this.#state === 'head' ? this.#end === '\r\n\r\n' : /\n[^\n]*\n$/.test(this.#end)) {
          this.#state = this.#state === 'head' ? 'line start' : 'string'
          this.#end = ''
        } else if (this.#state === 'frame' && character === '\n') this.#end = '\n'
        return false
      case 'string':
        return this.#inString(character)
      case 'json':
        this.#structure(character)
        return false
    }
  }

  #startOf(start: string): State {
    if (this.#isHttp && /^[\da-f]{1,8}(?:\r\n|$)/i.test(start)) return 'kept'
    if (start.startsWith('HTTP/')) {
      this.#isHttp = true
      return 'head'
    }
    if (start.startsWith('data:')) return 'data'
    if (/^(?:event|id|retry|):|^\[DONE\]/.test(start)) return 'kept'
    return /^[{["]/.test(start) ? 'json' : 'text'
  }

  #inString(character: string): boolean {
    if (this.#isEscaped) this.#isEscaped = false
    else if (character === '\\') this.#isEscaped = true
    else if (character === '\r' && this.#isHttp) {
      // The length of the next chunk, in the middle of a text.
      this.#state = 'frame'
      return false
    } else if (character === '"') {
      this.#state = this.#levels.length === 0 ? 'line start' : 'json'
      return false
    }
    if (this.#isName) this.#name += character
    return this.#isHidden && !this.#isName
  }

  #structure(character: string): void {
    const level = this.#levels.at(-1)
    if (character === '"') {
      this.#isName = level?.expectsName === true
      if (this.#isName) this.#name = ''
      this.#isHidden = this.#isContent(level)
      this.#state = 'string'
    } else if (character === '{' || character === '[') {
      const isObject = character === '{'
      const isStrict = STRICT.has(this.#name) && (isObject || this.#name !== 'input')
      this.#levels.push({
        isObject,
        expectsName: isObject,
        isHidden: this.#isContent(level),
        isStrict: level?.isStrict === true || isStrict,
        name: this.#name,
      })
    } else if (character === '}' || character === ']') {
      this.#name = this.#levels.pop()?.name ?? ''
      if (this.#levels.length === 0) this.#state = 'line start'
    } else if (level && (character === ',' || character === ':'))
      level.expectsName = character === ',' && level.isObject
  }

  /** True if a text here is content: by its own name, or by one around it. */
  #isContent(level: Level | undefined): boolean {
    // How a tape writes values that are not JSON.
    if (this.options.hidesAll) return this.#name !== '$'
    if (level === undefined) return this.#levels.length === 0 && this.#state === 'json'
    if (level.isStrict || (level.isObject && CONTENT.has(this.#name))) return true
    return level.isHidden && !(level.isObject && STRUCTURE.has(this.#name))
  }
}

type State = 'line start' | 'text' | 'kept' | 'data' | 'head' | 'frame' | 'json' | 'string'

interface Level {
  readonly isObject: boolean
  expectsName: boolean
  readonly isHidden: boolean
  /** Every member is content, whatever its name. */
  readonly isStrict: boolean
  /** Name of the member that this is the value of. */
  readonly name: string
}

const START_MAX = 16
const words = (text: string): ReadonlySet<string> => new Set(text.split(' '))
/** Members with content, in the formats of the providers and of MCP. */
const CONTENT = words(
  'content contents text input output arguments args partial_json thinking delta reasoning reasoning_content refusal transcript output_text response prompt instructions system system_instruction systemInstruction summary result messages message parts query data structuredContent description title body',
)
/** Those whose members are all content; a list of inputs has messages. */
const STRICT = words('arguments args input structuredContent')
/** Members of content that are not content themselves. */
const STRUCTURE = words(
  'type role id name model object finish_reason stop_reason stop_sequence status index mimeType mime_type mediaType media_type call_id tool_call_id tool_use_id item_id response_id format encoding event detail url phase jsonrpc method',
)

/**
 * Letters become `x` and digits `1`. Escapes stay escapes, and in JSON inside a text its literals
 * stay, so that a program can parse it.
 */
export function blankText(text: string): string {
  const blanked = text.replaceAll(/\\u[\da-fA-F]{4}|\\.|[A-Za-z\x80-\uffff]|\d/gs, (found) =>
    found.startsWith('\\u') ? '\\u0078' : BLANKED(found),
  )
  if (!/^\s*[{[]|\\"/.test(text)) return blanked
  let kept = blanked
  for (const { 0: word, index } of text.matchAll(LITERALS))
    kept = kept.slice(0, index) + word + kept.slice(index + word.length)
  return kept
}

const BLANKED = (found: string): string =>
  found.startsWith('\\') ? found : /\d/.test(found) ? '1' : 'x'
const LITERALS = /(?<=[:,[]\s*)(?:true|false|null)(?=\s*[,}\]]|$)/g
