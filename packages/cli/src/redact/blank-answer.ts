import { Http1Scanner, type Step, type Tape, type TapeEvent } from '@retake/tape'
import { blankBody, type ChangedBodies, type Mask } from './mask.js'

/**
 * How much of an answer is taken: what matches once the framing is undone; every text
 * that a model said; all of its content.
 */
export const DEGREES = ['matches', 'texts', 'all'] as const
export type Degree = (typeof DEGREES)[number]

/** Members that hold what was said, in the streams of the providers. */
const SAID =
  /"(?:text|content|arguments|partial_json|thinking|delta|reasoning|reasoning_content|refusal|transcript|output|input|response|summary|data|result|message|value)"\s*:\s*"((?:[^"\\]|\\.)*)"/g

/** Overwrites what a step was answered; heads and framing of HTTP stay, so that the rest can be read. */
export function blankAnswer(tape: Tape, step: Step, degree: Degree, mask: Mask): ChangedBodies {
  const changed: ChangedBodies = new Map()
  const events = step.answerSeqs.map((seq) => tape.event(seq))
  for (const event of events) {
    if (event.type !== 'result' || degree === 'matches') continue
    const body = tape.body(event.seq)
    changed.set(event.seq, blankBody(event.as, body))
  }
  const chunks = events.filter(({ type, seq }) => type === 'deliver' && tape.bodySize(seq) > 0)
  const bodies = chunks.map(({ seq }) => Buffer.from(tape.body(seq)))
  const request = tape.event(step.seq)
  const content = contentOf(request, bodies)
  overwrite(bodies, content, degree, mask)
  for (const [index, { seq }] of chunks.entries()) {
    const body = bodies[index]
    if (body !== undefined) changed.set(seq, body)
  }
  if (request.type === 'call' && degree !== 'matches')
    changed.set(step.seq, blankBody(request.as, tape.body(step.seq)))
  return changed
}

/** Places of content: which piece, and which byte of it. */
type Content = readonly (readonly [piece: number, at: number])[]

/** On a socket, heads and the lengths of chunks stand between the content. */
function contentOf(request: TapeEvent, bodies: readonly Buffer[]): Content {
  const everything = bodies.flatMap((body, piece) =>
    Array.from(body, (_, at) => [piece, at] as const),
  )
  if (request.type !== 'request' || request.socket === undefined) return everything
  const content: [number, number][] = []
  let isContent = false
  const scanner = new Http1Scanner('response', {
    dropBodies: true,
    onBody: (part) => {
      isContent ||= part.length > 0
    },
  })
  for (const [piece, at] of everything) {
    isContent = false
    scanner.push(new Uint8Array([bodies[piece]?.[at] ?? 0]))
    if (isContent) content.push([piece, at])
  }
  return scanner.notHttp || scanner.failure !== undefined ? everything : content
}

function overwrite(bodies: readonly Buffer[], content: Content, degree: Degree, mask: Mask): void {
  const joined = Buffer.from(content.map(([piece, at]) => bodies[piece]?.[at] ?? 0))
  for (const [start, end] of rangesOf(joined, degree, mask)) {
    for (const [piece, at] of content.slice(start, end)) {
      const body = bodies[piece]
      if (body !== undefined) body[at] = 0x2a
    }
  }
}

function rangesOf(joined: Buffer, degree: Degree, mask: Mask): [number, number][] {
  if (degree === 'matches') return mask.byteRanges(joined)
  if (degree === 'all') return [[0, joined.length]]
  // Positions in latin1 are positions of bytes.
  return [...joined.toString('latin1').matchAll(SAID)].map(({ 0: all, 1: said = '', index }) => {
    const end = index + all.length - 1
    return [end - said.length, end]
  })
}
