import {
  type CapturedState,
  type ExchangeResponse,
  type HeaderPair,
  type Message,
  type PathKey,
  pathText,
  type RunView,
  type Step,
  type Tape,
  TapeError,
  conversationMembers,
  parseJson,
} from '@retake/tape'
import { LossyText } from './clip.js'
import { messageDigest, textDigest } from './new-messages.js'
import {
  type FileTouch,
  type SearchField,
  type SearchHit,
  type SearchProgress,
  CRASH_LABEL,
} from './run-source.js'

const FIELD_MAX = 20

const CONVERSATION = conversationMembers()

/**
 * Searches steps in order. Content that later requests repeat, such as a message or a header, is
 * reported only at its first step.
 */
class StepSearch {
  readonly #tape: Tape
  readonly #matcher: TextMatcher
  readonly #seen = new Set<string>()
  isCut = false

  constructor(tape: Tape, matcher: TextMatcher) {
    this.#tape = tape
    this.#matcher = matcher
  }

  hits(step: Step): SearchHit[] {
    const found: SearchHit[] = []
    for (const [field, hits] of this.#fields(step)) {
      const known = hits.filter((hit) => hit !== undefined)
      if (known.length >= FIELD_MAX) this.isCut = true
      for (const hit of known.slice(0, FIELD_MAX))
        found.push({ step: step.label, seq: step.seq, field, ...hit })
    }
    return found
  }

  *#fields(step: Step): Generator<readonly [SearchField, readonly (Found | undefined)[]]> {
    const { title, error, failure, within, site } = step
    const inTitle = this.#matcher.find(title, 'title')
    yield ['title', [inTitle]]
    const reported = error === undefined ? undefined : this.#matcher.find(error, 'error')
    yield ['error', reported ? [reported] : this.#in(failure, 'failure').slice(0, 1)]
    yield ['scope', within.map(({ name }, index) => this.#once(name, `scopes.${index}`))]
    if (site !== undefined) yield ['scope', [this.#once(site, 'site')]]
    const event = this.#tape.event(step.seq)
    if (event.type === 'request') {
      if (inTitle === undefined) yield ['request', [this.#once(event.url, 'request.url')]]
      yield ['headers', this.#inHeaders(event.headers, 'request')]
    }
    const inCall = this.#inCall(step)
    yield* inCall
    if (event.type !== 'request' || inCall.some(([, hits]) => hits.length > 0)) return
    const messages =
      step.kind === 'model' && this.#matcher.mayBeIn(this.#requestText(step))
        ? this.#inConversation(step.messages(), 'messages')
        : { hits: [], isMatch: false }
    yield ['message', messages.hits]
    yield ['request', this.#inRequest(step, messages.isMatch)]
    const answer = this.#inConversation(step.kind === 'model' ? step.answer() : [], 'answer')
    yield ['answer', answer.hits]
    const response = step.exchange()?.response
    if (response === undefined) return
    yield ['headers', this.#inHeaders(response.headers, 'response')]
    if (!answer.isMatch) yield ['response', this.#inBody(response)]
  }

  #in(value: unknown, ...path: (string | number)[]): Found[] {
    return value === undefined ? [] : this.#matcher.findIn(value, searchKeysOf(...path), FIELD_MAX)
  }

  #inHeaders(headers: readonly HeaderPair[], side: 'request' | 'response'): (Found | undefined)[] {
    return headers.map(([name, value], index) =>
      this.#once(`${name}: ${value}`, `${side}.headers.${index}`),
    )
  }

  #inCall(step: Step): [SearchField, Found[]][] {
    if (step.kind === 'model' || step.kind === 'http' || step.kind === 'mark') return []
    const call = step.call()
    if (call === undefined) return []
    const text = new TextDecoder()
    const output = call.output.map(({ bytes }, index) =>
      this.#matcher.find(text.decode(bytes), `output.${index}`),
    )
    return [
      ['args', this.#in(call.args, 'args')],
      ['result', this.#in(call.result, 'result')],
      ['result', definedOnly(output)],
    ]
  }

  /** `isMatch` is true if a message matches, reported or not. */
  #inConversation(
    messages: readonly Message[],
    name: string,
  ): { readonly hits: readonly Found[]; readonly isMatch: boolean } {
    const hits: Found[] = []
    let isMatch = false
    for (const [index, message] of messages.entries()) {
      const found = message.parts.flatMap(({ type: _type, ...said }, part) =>
        this.#in(said, name, index, 'parts', part),
      )
      if (found.length === 0) continue
      isMatch = true
      if (this.#isNew(messageDigest(message))) hits.push(...found)
      if (hits.length >= FIELD_MAX) break
    }
    return { hits, isMatch }
  }

  /** Searches the request without the conversation, except for parts that no message shows. */
  #inRequest(step: Step, isInMessages: boolean): Found[] {
    const text = this.#requestText(step)
    if (text === '' || !this.#matcher.mayBeIn(text)) return []
    const json = parseJson(text)
    if (typeof json !== 'object' || json === null)
      return definedOnly([this.#matcher.find(text, 'request.body')])
    if (step.kind !== 'model') return this.#in(json, 'request', 'body')
    const hits: Found[] = []
    for (const [key, value] of Object.entries(json)) {
      if (CONVERSATION.has(key) && isInMessages) continue
      const items: readonly unknown[] = Array.isArray(value) ? value : [value]
      for (const [index, item] of items.entries()) {
        const within = Array.isArray(value) ? [key, index] : [key]
        const found = this.#in(item, 'request', 'body', ...within)
        if (found.length > 0 && this.#isNew(textDigest(JSON.stringify([key, item]))))
          hits.push(...found)
      }
    }
    return hits
  }

  #inBody({ events, json, text }: ExchangeResponse): Found[] {
    if (events !== undefined) {
      const index = events.findIndex(({ data }) => this.#matcher.find(data) !== undefined)
      const hit = this.#matcher.find(events[index]?.data ?? '', `response.events.${index}`)
      return index < 0 ? [] : definedOnly([hit])
    }
    if (text === undefined || !this.#matcher.mayBeIn(text)) return []
    return typeof json === 'object' && json !== null
      ? this.#in(json, 'response', 'body')
      : definedOnly([this.#matcher.find(text, 'response.body')])
  }

  #requestText(step: Step): string {
    return new TextDecoder().decode(this.#tape.body(step.seq))
  }

  #once(text: string, path: string): Found | undefined {
    const hit = this.#matcher.find(text, path)
    return hit !== undefined && this.#isNew(`${path.split('.')[0]} ${textDigest(text)}`)
      ? hit
      : undefined
  }

  #isNew(digest: string): boolean {
    if (this.#seen.has(digest)) return false
    this.#seen.add(digest)
    return true
  }
}

const definedOnly = (found: readonly (Found | undefined)[]): Found[] =>
  found.filter((hit) => hit !== undefined)

const BEFORE = 50
const AFTER = 110
/** Longer queries are cut. */
const WANTED_MAX = 1000
/** Limits for one tree: nodes and depth. */
const NODES_MAX = 2_000_000
const DEPTH_MAX = 400

export interface Found {
  readonly path: string
  readonly snippet: string
  readonly start: number
  readonly length: number
}

/** Finds a text, ignoring case. */
export class TextMatcher {
  readonly #pattern: RegExp
  /** True if no character of the text is escaped in JSON. */
  readonly #isPlain: boolean

  constructor(wanted: string) {
    const text = wanted.slice(0, WANTED_MAX)
    this.#pattern = new RegExp(text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), 'iu')
    this.#isPlain = /^[ !#-.0-[\]-~]*$/.test(text)
  }

  find(text: string, path = ''): Found | undefined {
    const match = this.#pattern.exec(text)
    if (match === null) return undefined
    const { index } = match
    const [{ length }] = match
    const from = wholeFrom(text, Math.max(0, index - BEFORE))
    const to = wholeFrom(text, Math.min(text.length, index + Math.min(length, AFTER) + AFTER))
    // Replaced character by character, so that offsets stay valid.
    const snippet = text.slice(from, to).replaceAll(/[\s\p{Cc}]/gu, ' ')
    return { path, snippet, start: index - from, length: Math.min(length, to - index) }
  }

  /** A cheap check before parsing. False if no string in a JSON text can match. */
  mayBeIn(json: string): boolean {
    if (this.#pattern.test(json)) return true
    return this.#isPlain ? /\\u00[2-7]/.test(json) : json.includes('\\')
  }

  findIn(value: unknown, path: readonly PathKey[], max: number): Found[] {
    const found: Found[] = []
    let nodes = 0
    const look = (text: string, at: readonly PathKey[]): void => {
      const hit = this.find(text)
      if (hit !== undefined) found.push({ ...hit, path: pathText(at) })
    }
    const walk = (node: unknown, at: readonly PathKey[]): void => {
      if (found.length >= max || ++nodes > NODES_MAX || at.length > DEPTH_MAX) return
      if (typeof node === 'string') look(node, at)
      else if (typeof node === 'number' || typeof node === 'bigint') look(String(node), at)
      else if (Array.isArray(node) || node instanceof Set || node instanceof Map)
        [...node].forEach((item, index) => walk(item, [...at, searchKeyOf(index)]))
      else if (node instanceof Date)
        look(Number.isNaN(node.getTime()) ? '' : node.toISOString(), at)
      else if (node instanceof RegExp || node instanceof URL) look(String(node), at)
      else if (ArrayBuffer.isView(node))
        look(
          new TextDecoder().decode(new Uint8Array(node.buffer, node.byteOffset, node.byteLength)),
          at,
        )
      else if (typeof node === 'object' && node !== null) {
        const members =
          node instanceof Error ? Object.assign({ message: node.message }, node) : node
        for (const [key, member] of Object.entries(members)) {
          const inside = [...at, searchKeyOf(key)]
          if (this.#pattern.test(key)) look(key, inside)
          else walk(member, inside)
        }
      }
    }
    walk(value, path)
    return found.slice(0, max)
  }
}

export const searchKeyOf = (key: string | number): PathKey => ({ key: String(key), quoted: false })

export const searchKeysOf = (...keys: (string | number)[]): PathKey[] => keys.map(searchKeyOf)

function wholeFrom(text: string, at: number): number {
  const code = text.charCodeAt(at)
  return code >= 0xdc00 && code < 0xe000 && at > 0 ? at - 1 : at
}

/** Maximum hits of a search, and milliseconds between yields. */
const HITS_MAX = 500
const SLICE_MS = 10

interface SearchedRun {
  readonly tape: Tape
  readonly view: RunView
  readonly files: () => readonly FileTouch[]
  readonly states: readonly CapturedState[]
  /** Label of the row with the error that ended it. */
  readonly exitStep?: string | undefined
}

/**
 * Searches a whole run, ignoring case: steps in order, then the console, files and captured variables.
 * Inferred tool calls are found in the conversation. Yields about every ten milliseconds; a single
 * very large step takes longer.
 */
export function* searchRunText(run: SearchedRun, text: string): Generator<SearchProgress> {
  const total = run.view.recordedSteps.length
  let [searched, unread, count, since] = [0, 0, 0, performance.now()]
  let hits: SearchHit[] = []
  const search = new StepSearch(run.tape, new TextMatcher(text))
  if (text !== '') {
    for (const found of pieces(run, search, new TextMatcher(text))) {
      const room = HITS_MAX - count
      hits.push(...found.hits.slice(0, room))
      count += found.hits.length
      searched += found.isStep === true ? 1 : 0
      unread += found.isUnread === true ? 1 : 0
      if (count > HITS_MAX) break
      if (performance.now() - since < SLICE_MS) continue
      yield { hits, searched, total, done: false, cut: false }
      hits = []
      since = performance.now()
    }
  }
  const cut = count > HITS_MAX || search.isCut
  yield { hits, searched, total, done: true, cut, ...(unread > 0 && { unread }) }
}

interface Piece {
  readonly hits: readonly SearchHit[]
  readonly isStep?: boolean
  readonly isUnread?: boolean
}

function* pieces(run: SearchedRun, search: StepSearch, matcher: TextMatcher): Generator<Piece> {
  const { tape, view, files, states, exitStep } = run
  for (const step of view.recordedSteps) {
    let hits: SearchHit[] | undefined
    try {
      hits = search.hits(step)
    } catch (error) {
      // The tape is damaged there. The rest is still searched.
      if (!(error instanceof TapeError || error instanceof RangeError)) throw error
    }
    yield { hits: hits ?? [], isStep: true, isUnread: hits === undefined }
  }
  // The error that ended the run, unless a step failed with it.
  const error = exitStep === CRASH_LABEL ? view.exit?.error : undefined
  const [inExit] = error === undefined ? [] : matcher.findIn(error, searchKeysOf('failure'), 1)
  if (inExit)
    yield { hits: [{ step: CRASH_LABEL, seq: tape.count - 1, field: 'error', ...inExit }] }
  yield* inConsole(view, matcher)
  for (const { seq, step, path, call } of files()) {
    const found = matcher.find(path) ?? matcher.find(`${call} ${path}`)
    yield { hits: found ? [{ step, seq, field: 'file', ...found }] : [] }
  }
  yield* inStates(states, matcher)
}

/** Finds text that is split over two parts in the second part. */
function* inConsole(view: RunView, matcher: TextMatcher): Generator<Piece> {
  const streams = { stdout: new LossyText(), stderr: new LossyText() }
  const line = { stdout: '', stderr: '' }
  for (const output of view.outputs) {
    const { seq, stream } = output
    const { text } = streams[stream].read(view.outputBytes(output))
    const found = matcher.find(text) ?? matcher.find(line[stream] + text)
    yield { hits: found ? [{ step: undefined, seq, field: 'console', ...found }] : [] }
    // The end of this part, for a match that ends in the next one.
    line[stream] = found ? '' : (line[stream] + text).slice(-1000)
  }
}

/** Reports an unchanged variable only once. */
function* inStates(states: readonly CapturedState[], matcher: TextMatcher): Generator<Piece> {
  const seen = new Set<string>()
  for (const { step, seq, frames } of states) {
    const hits: SearchHit[] = []
    for (const [position, { name: owner, variables }] of frames.entries()) {
      for (const [index, { name, json }] of variables.entries()) {
        const path = searchKeysOf('frames', position, 'variables', index, 'json')
        const found = [
          ...[matcher.find(name)].flatMap((hit) =>
            hit ? [{ ...hit, path: `frames.${position}.variables.${index}` }] : [],
          ),
          ...matcher.findIn(json, path, 5),
        ]
        const digest = found.length === 0 ? '' : textDigest(JSON.stringify([owner, name, json]))
        if (found.length === 0 || seen.has(digest)) continue
        seen.add(digest)
        hits.push(...found.map((hit) => ({ step, seq, field: 'state' as const, ...hit })))
      }
    }
    yield { hits }
  }
}
