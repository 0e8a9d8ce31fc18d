import { TEXT_MEMBERS } from '@retake/tape/secrets'
import { parseJson } from '@retake/tape/format'
import { unescapedJson } from './find-values.js'

/** `said`: the texts of messages. `texts`: every text, as in the arguments of a tool. */
type Hidden = 'said' | 'texts' | 'texts and numbers'

/**
 * Blanks the conversation in a body: the texts of messages, answers, arguments and results. Names
 * of members, types and ids stay, so that a client can still parse the body. Lengths stay, too.
 * Understands JSON, lines of JSON and events of a stream (`data: …`); every other line is blanked.
 * The pieces of a stream come one after another, cut anywhere, as texts with one character per
 * byte. Not promised: numbers that are not texts stay.
 */
export class ContentMask {
  readonly #levels: Level[] = []
  #state: State = 'line start'
  /** Name of the next member, or of the last one that was read. */
  #name = ''
  #isName = false
  #isHidden = false
  #isEscaped = false
  /** The beginning of a number or literal. */
  #word = ''
  /** True between a value and the next comma or colon. */
  #isAfterValue = false

  constructor(readonly hidden: Hidden) {}

  piece(text: string): string {
    let masked = ''
    let [from, isContent] = [0, false]
    for (let at = 0; at <= text.length; at++) {
      const isNext = at < text.length && this.#isContentAt(text, at)
      if (isNext === isContent && at < text.length) continue
      const part = text.slice(from, at)
      const isString = isContent && text[from - 1] === '"' && text[at] === '"'
      masked += isString ? blankString(part) : isContent ? blankText(part) : part
      ;[from, isContent] = [at, isNext]
    }
    return masked
  }

  #isContentAt(text: string, at: number): boolean {
    const character = text[at] ?? ''
    if (this.#state === 'line start' && !/\s/.test(character))
      this.#state = startOf(text.slice(at, at + START_MAX))
    switch (this.#state) {
      case 'line start':
        return false
      case 'text':
      case 'kept': {
        const isText = this.#state === 'text'
        if (character === '\n') this.#state = 'line start'
        return isText && character !== '\n'
      }
      case 'data':
        // The colon and a space; the rest is a line of its own.
        if (character === ':') this.#state = 'line start'
        return false
      case 'string':
        return this.#inString(character)
      case 'json':
        return this.#structure(character)
    }
  }

  #inString(character: string): boolean {
    if (this.#isEscaped) this.#isEscaped = false
    else if (character === '\\') this.#isEscaped = true
    else if (character === '"') {
      this.#isAfterValue = this.#levels.length > 0
      this.#state = this.#isAfterValue ? 'json' : 'line start'
      return false
    }
    if (this.#isName) this.#name += character
    return this.#isHidden && !this.#isName
  }

  /** True for a character that is content although it is not inside a text. */
  #structure(character: string): boolean {
    const level = this.#levels.at(-1)
    const isBetween = /[\s,:{}[\]"]/.test(character)
    if (isBetween && this.#word !== '') [this.#word, this.#isAfterValue] = ['', true]
    const isStart = !/[\s,:}\]]/.test(character)
    const isExpected = level?.expectsName === true ? character === '"' : !this.#isAfterValue
    if (isStart && !isExpected) return this.#notJson()
    if (!isBetween) {
      this.#word += character
      if (!SCALAR.test(this.#word)) return this.#notJson()
      return this.hidden === 'texts and numbers' && /\d/.test(character)
    }
    if (character === '"') {
      this.#isName = level?.expectsName === true
      if (this.#isName) this.#name = ''
      this.#isHidden = this.#isContent(level)
      this.#state = 'string'
    } else if (character === '{' || character === '[') this.#open(character === '{', level)
    else if (character === '}' || character === ']') {
      this.#name = this.#levels.pop()?.name ?? ''
      this.#isAfterValue = this.#levels.length > 0
      if (this.#levels.length === 0) this.#state = 'line start'
    } else if (level && (character === ',' || character === ':')) {
      level.expectsName = character === ',' && level.isObject
      this.#isAfterValue = false
    }
    return false
  }

  /** Called if the text only looked like JSON. */
  #notJson(): true {
    this.#levels.length = 0
    ;[this.#state, this.#word, this.#isAfterValue] = ['text', '', false]
    return true
  }

  #open(isObject: boolean, level: Level | undefined): void {
    const name = this.#name
    const isStrict = STRICT.has(name) && (isObject || name !== 'input')
    this.#levels.push({
      isObject,
      expectsName: isObject,
      isHidden: this.#isContent(level),
      isStrict: level?.isStrict === true || isStrict,
      isSchema: level?.isSchema === true || SCHEMAS.has(name),
      name,
    })
    // Elements of a list have no name.
    if (!isObject) this.#name = ''
  }

  /** True if a text here is content, by its own name or by that of an enclosing member. */
  #isContent(level: Level | undefined): boolean {
    // The key with which a tape marks values that are not JSON.
    if (this.hidden !== 'said') return this.#name !== '$'
    if (level === undefined) return this.#levels.length === 0 && this.#state === 'json'
    if (level.isStrict) return true
    if (level.isSchema) return level.isObject && PROSE.has(this.#name)
    if (level.isObject && CONTENT.has(this.#name)) return true
    return level.isHidden && !(level.isObject && STRUCTURE.has(this.#name))
  }
}

type State = 'line start' | 'text' | 'kept' | 'data' | 'json' | 'string'

interface Level {
  readonly isObject: boolean
  expectsName: boolean
  readonly isHidden: boolean
  /** True if every member is content, whatever its name. */
  readonly isStrict: boolean
  /** True if it describes arguments, so that only its prose is content. */
  readonly isSchema: boolean
  /** Name of the member whose value this is. */
  readonly name: string
}

function startOf(start: string): State {
  if (start.startsWith('data:')) return 'data'
  if (/^event: ?[\w./-]*(?:\r?\n|$)|^retry: ?\d*\r?\n|^\[DONE\]/.test(start)) return 'kept'
  return /^[{["]/.test(start) ? 'json' : 'text'
}

const START_MAX = 64
/** The start of a number or literal. */
const SCALAR =
  /^(?:-?(?:0|[1-9]\d*)?(?:\.\d*)?(?:[eE][+-]?\d*)?|t(?:r(?:ue?)?)?|f(?:a(?:l(?:se?)?)?)?|n(?:u(?:ll?)?)?)$/
const words = (text: string): ReadonlySet<string> => new Set(text.split(' '))
/** Members with content, in the formats of the providers and of MCP. */
const CONTENT = new Set([
  ...TEXT_MEMBERS,
  ...words(
    'contents input output args prompt instructions system system_instruction systemInstruction summary result messages message parts query data structuredContent description title body',
  ),
])
/** Members whose own members are all content; a list of inputs contains messages. */
const STRICT = words('arguments args input structuredContent')
/** Members of content that are not content themselves. */
const STRUCTURE = words(
  'type role id name model object finish_reason stop_reason stop_sequence stopReason status index mimeType mime_type mediaType media_type call_id tool_call_id toolCallId toolUseId tool_use_id item_id response_id format encoding event detail url phase jsonrpc method protocolVersion version service_tier',
)
const SCHEMAS = words(
  'execution capabilities parameters parametersJsonSchema input_schema inputSchema outputSchema schema json_schema responseSchema responseJsonSchema',
)
const PROSE = words('description title default example examples')

/** Letters become `x` and digits `1`. Escapes stay escapes. */
export const blankText = (text: string): string =>
  text.replaceAll(/\\u[\da-fA-F]{4}|\\.|[A-Za-z\x80-\uffff]|\d/gs, (found) => {
    // An escape may be cut.
    if (found.startsWith('\\')) return found.length > 2 ? '\\u0078' : found
    return /\d/.test(found) ? '1' : 'x'
  })

/** Like `blankText`, for a JSON text without its quotes. JSON inside it keeps its structure. */
export function blankString(escaped: string): string {
  const { text, offsets } = unescapedJson(escaped)
  if (!/^\s*[{[]/.test(text) || parseJson(text) === undefined) return blankText(escaped)
  const masked = new ContentMask('texts and numbers').piece(text)
  let result = ''
  for (let at = 0; at < text.length; at++) {
    const written = escaped.slice(offsets[at], offsets[at + 1])
    const isBlanked = masked[at] !== text[at]
    result += !isBlanked ? written : written.length === 1 ? masked[at] : blankText(written)
  }
  return result
}
