import type { BlameVerdict, ForkCounts, Rate, StepRole } from './blame-findings.js'
import type { Message } from '../providers/message.js'

/**
 * Which parts of what a model was asked made its answer fail the run. Every part was
 * left out and put back in; a part is left out by putting neutral words in its place.
 */
export interface SpanFindings {
  readonly version: 1
  /** What people call the step whose input this is. */
  readonly step: string
  readonly verdict: BlameVerdict
  /** One sentence that says why, where the verdict is not `attributed`. */
  readonly why?: string
  /** Every message and result of a tool that was searched, in order. */
  readonly messages: readonly InputPart[]
  /** The words in blamed messages that mattered; the whole text where it could not be narrowed. */
  readonly spans: readonly InputSpan[]
  readonly forks: ForkCounts
  readonly notes: readonly string[]
}

/** A message of a request, or a result of a tool in it. */
export interface InputPart {
  /** Where in the request it is: `messages.3`. */
  readonly path: string
  readonly speaker: Message['role']
  readonly excerpt: string
  /** As of a step: `root` alone makes it fail, `joint` only with others, `clear` has nothing to do with it. */
  readonly role: StepRole
  /** Which cause it belongs to, from 0; the others would have failed without the first. */
  readonly cause?: number
  /** How often it fails when only the parts of that cause are there. */
  readonly rate?: Rate
}

/** A piece of a text in a request. */
export interface InputSpan extends InputPart {
  /** Where in the text at `path` it begins and ends; where there is no text, in its JSON. */
  readonly start: number
  readonly end: number
}
