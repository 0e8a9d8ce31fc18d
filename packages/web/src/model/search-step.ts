import type { HeaderPair, Message, PathKey, Step, Tape } from '@retake/tape'
import { messageDigest, textDigest } from './message-digest.js'
import type { SearchField, SearchHit } from './run-parts.js'
import { keyOf, keysOf, type Found, type TextMatcher } from './text-matcher.js'

/** Hits of one field of one step. */
const FIELD_MAX = 20

/** Members of a request that hold the conversation, in the APIs of all providers. */
const CONVERSATION = new Set([
  'messages',
  'input',
  'instructions',
  'contents',
  'system',
  'systemInstruction',
  'system_instruction',
  'prompt',
  'message',
  'chat_history',
  'inputText',
])

/**
 * Searches steps in order. What is repeated in every later request, such as a message,
 * a list of tools or a header, is reported at the step where it first stood.
 */
export class StepSearch {
  readonly #tape: Tape
  readonly #matcher: TextMatcher
  readonly #seen = new Set<string>()
  /** A field had more hits than are reported. */
  isCut = false

  constructor(tape: Tape, matcher: TextMatcher) {
    this.#tape = tape
    this.#matcher = matcher
  }

  hits(step: Step): SearchHit[] {
    const found: SearchHit[] = []
    const add = (field: SearchField, hits: readonly (Found | undefined)[]): void => {
      const known = hits.filter((hit) => hit !== undefined)
      if (known.length >= FIELD_MAX) this.isCut = true
      for (const hit of known.slice(0, FIELD_MAX))
        found.push({ step: step.label, seq: step.seq, field, ...hit })
    }
    add('title', [this.#matcher.find(step.title, 'title')])
    add('error', this.#inError(step))
    add('place', this.#inPlaces(step))
    const event = this.#tape.event(step.seq)
    if (event.type === 'request') {
      const isTitle = found.some(({ field }) => field === 'title')
      add('request', isTitle ? [] : [this.#once(event.url, 'request.url')])
      add('headers', this.#inHeaders(event.headers, 'request'))
    }
    const inCall = this.#inCall(step)
    for (const [field, hits] of inCall) add(field, hits)
    if (event.type !== 'request' || inCall.some(([, hits]) => hits.length > 0)) return found
    const { messages, isMatch } = this.#inMessages(step)
    add('message', messages)
    add('request', this.#inRequest(step, isMatch))
    const answer = this.#inAnswer(step)
    add('answer', answer.hits)
    for (const [field, hits] of this.#inResponse(step, answer.isMatch)) add(field, hits)
    return found
  }

  #inError({ error, failure }: Step): Found[] {
    const told = error === undefined ? undefined : this.#matcher.find(error, 'error')
    if (told !== undefined) return [told]
    return failure === undefined
      ? []
      : this.#matcher.findIn(failure, keysOf('failure'), FIELD_MAX).slice(0, 1)
  }

  #inPlaces({ within, site }: Step): (Found | undefined)[] {
    return [
      ...within.map(({ name }, index) => this.#once(name, `places.${index}`)),
      site === undefined ? undefined : this.#once(site, 'site'),
    ]
  }

  #inHeaders(headers: readonly HeaderPair[], side: 'request' | 'response'): (Found | undefined)[] {
    return headers.map(([name, value], index) =>
      this.#once(`${name}: ${value}`, `${side}.headers.${index}`),
    )
  }

  /** Arguments, result and output of a tool, a process or a request of MCP. */
  #inCall(step: Step): [SearchField, Found[]][] {
    if (step.kind === 'model' || step.kind === 'http' || step.kind === 'mark') return []
    const call = step.call()
    if (call === undefined) return []
    const text = new TextDecoder()
    const output = call.output.flatMap(({ bytes }, index) => {
      const hit = this.#matcher.find(text.decode(bytes), `output.${index}`)
      return hit === undefined ? [] : [hit]
    })
    return [
      ['args', this.#matcher.findIn(call.args, keysOf('args'), FIELD_MAX)],
      ['result', this.#matcher.findIn(call.result, keysOf('result'), FIELD_MAX)],
      ['result', output],
    ]
  }

  /** `isMatch`: some message holds it, reported or not. */
  #inMessages(step: Step): { readonly messages: Found[]; readonly isMatch: boolean } {
    if (step.kind !== 'model' || !this.#matcher.mayBeIn(this.#requestText(step)))
      return { messages: [], isMatch: false }
    const { hits, isMatch } = this.#inConversation(step.messages(), 'messages')
    return { messages: hits, isMatch }
  }

  #inAnswer(step: Step): { readonly hits: Found[]; readonly isMatch: boolean } {
    return step.kind === 'model'
      ? this.#inConversation(step.answer(), 'answer')
      : { hits: [], isMatch: false }
  }

  #inConversation(
    messages: readonly Message[],
    name: string,
  ): { readonly hits: Found[]; readonly isMatch: boolean } {
    const hits: Found[] = []
    let isMatch = false
    for (const [index, message] of messages.entries()) {
      const path = keysOf(name, index, 'parts')
      const found = message.parts.flatMap((part, place) =>
        this.#inPart(part, [...path, keyOf(place)]),
      )
      if (found.length === 0) continue
      isMatch = true
      if (this.#isNew(messageDigest(message))) hits.push(...found)
      if (hits.length >= FIELD_MAX) break
    }
    return { hits, isMatch }
  }

  #inPart(part: Message['parts'][number], path: readonly PathKey[]): Found[] {
    const { type: _type, ...said } = part
    return this.#matcher.findIn(said, path, FIELD_MAX)
  }

  /** What is sent beside the conversation; of the conversation, what no message shows. */
  #inRequest(step: Step, isInMessages: boolean): Found[] {
    const text = this.#requestText(step)
    if (text === '' || !this.#matcher.mayBeIn(text)) return []
    const body = keysOf('request', 'body')
    const json = parsed(text)
    if (typeof json !== 'object' || json === null)
      return definedOnly([this.#matcher.find(text, 'request.body')])
    if (step.kind !== 'model') return this.#matcher.findIn(json, body, FIELD_MAX)
    const hits: Found[] = []
    for (const [key, value] of Object.entries(json)) {
      if (CONVERSATION.has(key) && isInMessages) continue
      const items: readonly unknown[] = Array.isArray(value) ? value : [value]
      for (const [index, item] of items.entries()) {
        const path = [...body, keyOf(key), ...(Array.isArray(value) ? [keyOf(index)] : [])]
        const found = this.#matcher.findIn(item, path, FIELD_MAX)
        if (found.length > 0 && this.#isNew(textDigest(JSON.stringify([key, item]))))
          hits.push(...found)
      }
    }
    return hits
  }

  #inResponse(step: Step, isInAnswer: boolean): [SearchField, (Found | undefined)[]][] {
    const response = step.exchange()?.response
    if (response === undefined) return []
    const headers = this.#inHeaders(response.headers, 'response')
    if (isInAnswer) return [['headers', headers]]
    return [
      ['headers', headers],
      ['response', this.#inBody(response)],
    ]
  }

  #inBody(response: NonNullable<NonNullable<ReturnType<Step['exchange']>>['response']>): Found[] {
    const { events, json, text } = response
    if (events !== undefined) {
      const index = events.findIndex(({ data }) => this.#matcher.find(data) !== undefined)
      const hit = this.#matcher.find(events[index]?.data ?? '', `response.events.${index}`)
      return index < 0 ? [] : definedOnly([hit])
    }
    if (text === undefined || !this.#matcher.mayBeIn(text)) return []
    return typeof json === 'object' && json !== null
      ? this.#matcher.findIn(json, keysOf('response', 'body'), FIELD_MAX)
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

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
