import { createHash } from 'node:crypto'
import path from 'node:path'
import { maskModelText, textsInBase64 } from '@retake/engine/runs'
import {
  attempt,
  environmentOnTape,
  messageText,
  type HeaderPair,
  type RunDetails,
  type Step,
  type Tape,
  type TapeEvent,
  utf8,
} from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { trustInThisProcess } from '@retake/runner/agent'
import { readOutcome } from '@retake/runner/oracle'
import { rewriteLineage, splitLike, streamsOf, tapeLineage } from '@retake/runner/privacy'
import { viewRun } from '@retake/runner/runs'
import type { SourceFile } from '../proof/candidates.js'
import { type AnswerForm, proposeForms } from '../proof/answer-forms.js'
import {
  type AnswerProbe,
  isPartOf,
  proposeListProbes,
  proposeNumberProbes,
  proposeSpellingProbes,
  proposeValueProbes,
  type RunTexts,
  substitution,
  type ValueProbe,
  wordPattern,
} from '../proof/probes.js'

/** Answers that are changed, the last ones first. */
const ANSWERS_MAX = 2
const TEXT_MAX = 200_000

/**
 * Variants of a failed run, most telling first: values together, then the spelling, the lists and
 * the numbers of answers, then single values.
 */
export function proposeProbes(
  tape: Tape,
  { sources, data, oracle, judgesOutput }: ProbeContext,
): readonly (ValueProbe | AnswerProbe)[] {
  const { redaction, pseudonymKey, inputProof } = tape.details
  // A model that judges costs money, and what is hidden cannot be changed everywhere.
  const isHidden = redaction !== undefined || pseudonymKey !== undefined || inputProof !== undefined
  if (isHidden || /^(?:not:\s*)*judge:/.test(oracle)) return []
  const values = proposeValueProbes(textsOf(tape, { sources, data, oracle }))
  // A probe of a single value is only needed if its group says nothing.
  const isSingle = (probe: ValueProbe): boolean =>
    values.some((other) => other.changes.length > probe.changes.length && isPartOf(probe, other))
  const { error } = readOutcome(tape)
  const answers = error === undefined ? [] : plainAnswers(tape).slice(0, ANSWERS_MAX)
  // Only an error of the language itself is wrong for all data: a check of the program may be right.
  const crashes = judgesOutput || !isCrash(error) ? [] : answers
  return [
    ...values.filter((probe) => !isSingle(probe)),
    ...answers.flatMap(({ seq, answer }) => proposeSpellingProbes(seq, answer)),
    ...crashes.flatMap(({ seq, answer, isModel }) =>
      isModel ? proposeListProbes(seq, answer).map(rejecting) : proposeListProbes(seq, answer),
    ),
    ...crashes.flatMap(({ seq, answer, isModel }) =>
      isModel ? [] : proposeNumberProbes(seq, answer).map(rejecting),
    ),
    ...values.filter(isSingle),
  ]
}

/** Forms of the last answers that the unchanged code may expect. */
export function proposeTapeForms(
  tape: Tape,
  { sources, data, oracle }: ProbeContext,
): AnswerForm[] {
  const { redaction, pseudonymKey, inputProof } = tape.details
  const isHidden = redaction !== undefined || pseudonymKey !== undefined || inputProof !== undefined
  if (isHidden || /^(?:not:\s*)*judge:/.test(oracle)) return []
  const code = sources
    .filter(({ path: file }) => !data.has(file))
    .map(({ text }) => text)
    .join('\n')
  return plainAnswers(tape)
    .slice(0, ANSWERS_MAX)
    .flatMap((answer) => proposeForms(answer, { code }))
}

const rejecting = (probe: AnswerProbe): AnswerProbe => ({ ...probe, onlyRejects: true })

/** True for an error of the language itself. */
export const isCrash = (error: { readonly class: string } | undefined): boolean =>
  /^(?:Type|Syntax|Reference|Range)Error$/.test(error?.class ?? '')

export interface ProbeContext {
  readonly sources: readonly SourceFile[]
  /** Relative paths of sources that are not code. */
  readonly data: ReadonlySet<string>
  /** The oracle as given. */
  readonly oracle: string
  /** True if the order or number of items may be part of what the oracle expects. */
  readonly judgesOutput: boolean
}

// ── What the run got and made ───────────────────────────────────────────────

function textsOf(
  tape: Tape,
  { sources, data, oracle }: Omit<ProbeContext, 'judgesOutput'>,
): RunTexts {
  const view = viewRun(tape)
  const { args = [], input } = tape.details
  const given: string[] = [...args, ...(input === undefined ? [] : [JSON.stringify(input)])]
  for (const { name, value, isSecret } of environmentOnTape(tape).values())
    if (value && isSecret !== true && !SURROUNDING.test(name) && !/[/\\]/.test(value))
      given.push(value)
  const answers: { at: number; text: string }[] = []
  const made: { at: number; text: string }[] = []
  const names = new Set<string>()
  for (const event of tape.events(1)) {
    if (event.type !== 'result' && event.type !== 'deliver') continue
    const call = tape.event(event.op)
    if (call.type !== 'call' || (call.kind !== 'input' && call.kind !== 'file')) continue
    const text = utf8(tape.body(event.seq))
    if (text === undefined || text.length > TEXT_MAX || isInstalled(call.title)) continue
    if (call.kind === 'input') given.push(text)
    else answers.push({ at: event.seq, text })
  }
  for (const step of view.recordedSteps) {
    const { sent, got } = attempt(() => textsOfStep(step), { sent: '', got: '' })
    made.push({ at: step.seq, text: sent.slice(0, TEXT_MAX) })
    answers.push({ at: step.answerSeqs.at(-1) ?? step.seq, text: got.slice(0, TEXT_MAX) })
    const url = step.exchange()?.request.url ?? ''
    for (const name of [step.model, step.toolName, step.provider, attempt(() => new URL(url).host)])
      if (name !== undefined) names.add(name)
  }
  const { stdout, error } = readOutcome(tape)
  made.push({ at: tape.count, text: `${stdout}\n${error?.message ?? ''}` })
  const code = sources.filter((source) => !data.has(source.path)).map(({ text }) => text)
  return {
    given,
    answers: answers.toSorted((left, right) => left.at - right.at),
    made,
    fixed: [...code, ...names].join('\n'),
    oracle,
    isOracleReadable: isReadable(oracle),
  }
}

/** Variables about the machine, services and modes. */
const SURROUNDING =
  /^(?:NODE_\w*|npm_\w*|RETAKE_\w*|PATH|HOME|PWD|USER|SHELL|LANG|LC_\w+|TZ|TERM|CI)$|URL|HOST|PORT|PATH|DIR|KEY|TOKEN|MODEL|ORG/

const isInstalled = (file = ''): boolean => /[/\\]node_modules[/\\]/.test(file)

/** True if values of the run can be replaced in the oracle itself. */
export const isReadable = (oracle: string): boolean =>
  /^(?:not:\s*)*(?:exit|stdout|json):/.test(oracle)

function textsOfStep(step: Step): { readonly sent: string; readonly got: string } {
  if (step.kind === 'model') {
    const calls = step.toolCalls.map(({ args }) => JSON.stringify(args))
    return {
      sent: step.exchange()?.request.text ?? '',
      got: [...step.answer().map(messageText), ...calls].join('\n'),
    }
  }
  const exchange = step.exchange()
  if (exchange !== undefined) {
    const { request, response } = exchange
    return {
      sent: `${request.method} ${request.url}\n${request.text ?? ''}`,
      got: response?.text ?? '',
    }
  }
  const call = step.call()
  const output = (call?.output ?? []).map(({ bytes }) => utf8(bytes) ?? '')
  return {
    sent: JSON.stringify(call?.args) ?? '',
    got: [JSON.stringify(call?.result) ?? '', ...output].join('\n'),
  }
}

// ── Tapes of probes ─────────────────────────────────────────────────────────

/**
 * Writes a copy of a run in which the values of a probe are changed. Undefined if a value occurs in
 * a form that could not be changed, such as in compressed content.
 */
export function writeValueProbe(tape: Tape, probe: ValueProbe, folder: string): Tape | undefined {
  const replace = substitution(probe)
  const bodies = new Map<number, Uint8Array>()
  for (const { events, bodies: pieces } of streamsOf(tape)) {
    const text = Buffer.concat(pieces).toString('latin1')
    const changed = replace(maskModelText(text, replace))
    if (changed === text) continue
    const whole = Buffer.from(changed, 'latin1')
    for (const [at, piece] of splitLike(pieces, whole).entries()) {
      const event = events[at]
      if (event !== undefined && !piece.equals(pieces[at] ?? piece)) bodies.set(event.seq, piece)
    }
  }
  const digests = newDigests(tape, bodies)
  const inside = <T>(value: T): T => JSON.parse(replace(JSON.stringify(value))) as T
  const copy = rewritten(tape, folder, {
    details: (details) => ({
      ...details,
      ...(details.args && { args: details.args.map(replace) }),
      ...(details.input !== undefined && { input: inside(details.input) }),
    }),
    event: (event) => {
      const members = Object.entries(event).map(([name, value]) => {
        if (name === 'headers')
          return [name, (value as HeaderPair[]).map((pair) => changedHeader(pair, replace))]
        if (name === 'digest') return [name, digests.get(String(value)) ?? (value as unknown)]
        // Clocks and random numbers are not values of the run.
        if (!CHANGED.has(name) || typeof value === 'number') return [name, value as unknown]
        return [name, inside<unknown>(value)]
      })
      return Object.fromEntries(members) as TapeEvent
    },
    body: (seq, body) => bodies.get(seq) ?? body,
  })
  return isChangedEverywhere(copy, probe) ? copy : undefined
}

/** Members of events that contain data of the run. */
const CHANGED = new Set(['url', 'title', 'error', 'value', 'path', 'file', 'guard'])
/** Headers about the transport, and ids that servers make. */
const TRANSPORT_HEADER =
  /^(?:content-|accept|date$|age$|expires|last-modified|etag|host$|connection|keep-alive|transfer-|user-agent|server$|via$|vary|authorization|cookie|set-cookie|x-stainless|x-request-id|x-ratelimit|openai-|anthropic-|cf-|traceparent)/i

const changedHeader = ([name, value]: HeaderPair, replace: (text: string) => string): HeaderPair =>
  TRANSPORT_HEADER.test(name) ? [name, value] : [name, replace(value)]

/** Digests of what was written to a socket or child, which deliveries refer to. */
function newDigests(tape: Tape, bodies: ReadonlyMap<number, Uint8Array>): Map<string, string> {
  const written = new Map<number, { before: Uint8Array[]; after: Uint8Array[] }>()
  const digests = new Map<string, string>()
  for (const event of tape.events(1)) {
    if (event.type === 'write') {
      const body = tape.body(event.seq)
      const sent = written.get(event.op) ?? { before: [], after: [] }
      sent.before.push(body)
      sent.after.push(bodies.get(event.seq) ?? body)
      written.set(event.op, sent)
    }
    if (event.type !== 'deliver' || !event.digest || event.written === undefined) continue
    const { before, after } = written.get(event.op) ?? { before: [], after: [] }
    if (sha256(before, event.written) === event.digest)
      digests.set(event.digest, sha256(after, event.written))
  }
  return digests
}

const sha256 = (pieces: readonly Uint8Array[], length: number): string =>
  createHash('sha256').update(Buffer.concat(pieces).subarray(0, length)).digest('hex')

/** Reads the copy as a viewer does: decompressed, with joined streams. */
function isChangedEverywhere(copy: Tape, { changes }: ValueProbe): boolean {
  const pattern = wordPattern(changes.map(({ from }) => from))
  const hasValue = (text: string): boolean =>
    text.search(pattern) >= 0 ||
    [...textsInBase64(text)].some(([, decoded]) => decoded.search(pattern) >= 0)
  const { stdout, stderr, error } = readOutcome(copy)
  if ([stdout, stderr ?? '', error?.message ?? ''].some(hasValue)) return false
  return viewRun(copy).recordedSteps.every((step) => {
    const texts = attempt(() => textsOfStep(step))
    return texts !== undefined && !hasValue(texts.sent) && !hasValue(texts.got)
  })
}

/** Answers that are whole JSON values, last ones first. */
function plainAnswers(
  tape: Tape,
): { readonly seq: number; readonly answer: unknown; readonly isModel: boolean }[] {
  return viewRun(tape)
    .recordedSteps.filter(({ kind }) => kind === 'tool' || kind === 'http' || kind === 'model')
    .toReversed()
    .flatMap((step) => {
      const seq = bodySeq(tape, step)
      const text = seq === undefined ? undefined : utf8(tape.body(seq))
      // Values that JSON does not have are tagged on the tape.
      const isPlain = text !== undefined && !text.includes('"$"')
      const answer = isPlain ? attempt(() => JSON.parse(text) as unknown) : undefined
      return seq === undefined || answer === undefined
        ? []
        : [{ seq, answer, isModel: step.kind === 'model' }]
    })
}

/** The event with the whole answer of a step; undefined if it came in pieces or encoded. */
function bodySeq(tape: Tape, { answerSeqs }: Step): number | undefined {
  const events = answerSeqs.map((seq) => tape.event(seq))
  const isEncoded = events.some(
    (event) =>
      event.type === 'response' &&
      (event.encoded === true || event.headers.some(([name]) => /^content-encoding$/i.test(name))),
  )
  const bodies = events.filter(({ seq }) => tape.bodySize(seq) > 0)
  const [body] = bodies
  const isOnSocket = events.some((event) => {
    const op = 'op' in event ? tape.event(event.op) : event
    return op.type === 'socket' || (op.type === 'request' && op.socket !== undefined)
  })
  return bodies.length === 1 && !isEncoded && !isOnSocket ? body?.seq : undefined
}

/** Writes a copy of a run in which one answer is changed. */
export function writeAnswerProbe(tape: Tape, { seq, answer }: AnswerProbe, folder: string): Tape {
  const changed = Buffer.from(JSON.stringify(answer))
  const body = tape.event(seq)
  const op = 'op' in body ? body.op : -1
  return rewritten(tape, folder, {
    details: (details) => details,
    event: (event) =>
      event.type === 'response' && event.op === op
        ? {
            ...event,
            headers: event.headers.map(([name, value]): HeaderPair => [
              name,
              /^content-length$/i.test(name) ? String(changed.length) : value,
            ]),
          }
        : event,
    body: (at, recorded) => (at === seq ? changed : recorded),
  })
}

/** A copy of a run in its own folder, with its own digests, that this process may start. */
function rewritten(
  tape: Tape,
  folder: string,
  rewriting: {
    details(details: RunDetails): RunDetails
    event(event: TapeEvent): TapeEvent
    body(seq: number, body: Uint8Array): Uint8Array
  },
): Tape {
  const files = rewriteLineage(tapeLineage(tape.path), folder, {
    ...rewriting,
    run: (run) => run,
    // A proof is about the original.
    details: ({ proof: _proof, ...details }) => rewriting.details(details),
  })
  const copy = openTape(files.at(-1) ?? '')
  // It starts the same program as its original, which may run, with other values.
  trustInThisProcess(copy)
  return copy
}

/** A file with the values of a probe. */
export const changedFile = (file: string, text: string, probe: ValueProbe) => {
  const after = substitution(probe)(text)
  return after === text ? [] : [{ path: path.normalize(file), before: text, after }]
}
