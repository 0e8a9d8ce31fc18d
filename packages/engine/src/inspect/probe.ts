import type { DescribeLimits, Described } from './describe-value.js'
import { FrameReader, GLANCE, valueOf } from './frame-reader.js'
import type { CallTool, ToolArgument } from './frame-reader.js'
import { InspectorLink } from './inspector-link.js'
import type { ProbeEnd, ProbeProcess } from './probe-process.js'
import type { EvaluateResult, Paused, RemoteObject, ScriptParsed } from './protocol.js'
import { Scripts } from './scripts.js'
import { NEVER } from './shared-slots.js'
import type { HeldAt } from './shared-slots.js'
import type { Stop, Value } from './stop.js'
import { UserBreakpoints } from './user-breakpoints.js'

/** The process stands before this event reaches the agent, or right after the agent started it. */
export interface Held extends HeldAt {
  readonly kind: 'held'
}

/** The agent ran to its end, or was stopped by a divergence. */
export interface Ended extends ProbeEnd {
  readonly kind: 'ended'
}

export interface EvaluateOptions {
  /** Which frame of the stop; the innermost one of user code unless said. */
  readonly frame?: number
  /** Lets the expression change things. Without it such an expression fails before it does. */
  readonly allowSideEffects?: boolean
  readonly limits?: DescribeLimits
}

export type Evaluation =
  | { readonly ok: true; readonly value: Value }
  /** `message` as printed: `TypeError: …`. */
  | { readonly ok: false; readonly message: string }

type Halt = Held | Ended | { readonly kind: 'paused'; readonly paused: Paused }
/** The process could not be started, or Retake itself failed in it. */
interface Failed {
  readonly kind: 'failed'
  readonly error: unknown
}
type Place = Held | Stop | Ended

/** An expression that does not come to an end is given up. */
const EVALUATE_MS = 5000

/**
 * A replay that can be looked into: one process, which goes forward only. It stands
 * still (held, or stopped at a line) or has ended whenever a method has returned;
 * one call at a time. Held costs memory but no time of the processor.
 *
 * Not promised: variables of tasks that wait; only their places are known.
 */
export class Probe {
  readonly #process: ProbeProcess
  readonly #link: InspectorLink
  readonly #scripts: Scripts
  readonly #breakpoints: UserBreakpoints
  readonly #reader: FrameReader
  readonly #halts: (Halt | Failed)[] = []
  #onHalt: (() => void) | undefined
  #place: Place | undefined
  /** Set while a debugger holds the thread, at a stop or inside a hold. */
  #paused: Paused | undefined
  #isEnabled = false
  #tools: string | undefined

  private constructor(process: ProbeProcess) {
    this.#process = process
    this.#link = new InspectorLink(process.pipe)
    this.#scripts = new Scripts(process.libraries ?? [])
    this.#breakpoints = new UserBreakpoints(this.#link, this.#scripts)
    this.#reader = new FrameReader(this.#scripts, this.#callTool)
    this.#link.on('Debugger.scriptParsed', (script: ScriptParsed) => this.#scripts.add(script))
    this.#link.on('Retake.held', (at: HeldAt) => this.#arrive({ kind: 'held', ...at }))
    this.#link.on('Debugger.paused', (paused: Paused) => this.#arrive({ kind: 'paused', paused }))
    process.ended.then(
      (end) => this.#arrive({ kind: 'ended', ...end }),
      (error: unknown) => this.#arrive({ kind: 'failed', error }),
    )
  }

  /** Ready when the process is held before any code of the agent has run. */
  static async start(spawn: () => ProbeProcess): Promise<Probe> {
    const probe = new Probe(spawn())
    const halt = await probe.#next()
    if (halt.kind !== 'paused') probe.#place = halt
    return probe
  }

  /** Where it stands: held at an event, stopped at a line of user code, or at its end. */
  get place(): Held | Stop | Ended {
    if (this.#place === undefined) throw misused('is running')
    return this.#place
  }

  /**
   * Lets the agent run until the first event numbered `seq` or later: just before a
   * delivery reaches it, or just after it initiated something. Draws and output are
   * passed by. Runs at full speed, with no debugger attached.
   */
  async runTo(seq: number): Promise<Held | Ended> {
    if (this.place.kind === 'ended') throw misused('has ended')
    await this.#want({ wanted: seq, wantedDelivery: NEVER })
    await this.#letGo()
    const halt = await this.#next()
    if (halt.kind === 'paused') throw misused('paused by itself')
    return (this.#place = halt)
  }

  /**
   * From where the process is held, lets the event happen and stops at the first line
   * of user code that runs because of it: in the turn of that delivery, or in a turn
   * that follows from it (a library unpacked or retried the answer). When there is no
   * such line, at the next line of user code that runs at all: `isDirect` is false then.
   * Held at an initiation, the stack that initiated it is the answer.
   */
  async stopAtUserCode(): Promise<Stop | Ended> {
    const held = this.place
    if (held.kind !== 'held') throw misused('is not held at an event')
    await this.#want({ wanted: NEVER, wantedDelivery: NEVER })
    const paused = this.#paused ?? (await this.#attach())
    if (held.at === 'initiation') return this.#stopped(held.seq, paused, true)
    const turns =
      held.at === 'start' ? [] : await this.#callTool<number[]>('relatedTurns', { value: held.seq })
    await this.#breakpoints.arm()
    return this.#runToUserCode(held, turns)
  }

  async #runToUserCode(held: Held, turns: readonly number[]): Promise<Stop | Ended> {
    let turn = held.seq
    for (;;) {
      const isRelated = turns.includes(turn)
      const next = turns.find((seq) => seq > turn)
      if (isRelated || next === undefined) {
        await this.#want({ wantedDelivery: next === undefined ? NEVER : turn + 1 })
        await this.#resume()
      } else {
        // This turn belongs to another task.
        await this.#link.post('Debugger.setBreakpointsActive', { active: false })
        await this.#want({ wantedDelivery: next })
        await this.#resume()
      }
      const halt = await this.#next()
      if (halt.kind === 'ended') return (this.#place = halt)
      if (halt.kind === 'paused') return this.#stopped(held.seq, halt.paused, isRelated)
      turn = halt.seq
      await this.#attach()
    }
  }

  stepOver(): Promise<Stop | Ended> {
    return this.#step('Debugger.stepOver')
  }

  /** Into the next function of user code. */
  stepInto(): Promise<Stop | Ended> {
    return this.#step('Debugger.stepInto')
  }

  stepOut(): Promise<Stop | Ended> {
    return this.#step('Debugger.stepOut')
  }

  /** Value of an expression at the stop, or what it threw. Held at an event, only globals are seen. */
  async evaluate(expression: string, options: EvaluateOptions = {}): Promise<Evaluation> {
    const { kind } = this.place
    if (kind === 'ended') throw misused('has ended')
    const paused = this.#paused ?? (await this.#attach())
    const frame = paused.callFrames[options.frame ?? this.#userFrame(paused)]
    const shared = { expression, throwOnSideEffect: options.allowSideEffects !== true }
    const { result, exceptionDetails } =
      kind === 'stop' && frame
        ? await this.#link.post<EvaluateResult>('Debugger.evaluateOnCallFrame', {
            ...shared,
            callFrameId: frame.callFrameId,
            timeout: EVALUATE_MS,
          })
        : await this.#link.post<EvaluateResult>('Runtime.evaluate', {
            ...shared,
            timeout: EVALUATE_MS,
          })
    if (exceptionDetails) {
      const { exception, text } = exceptionDetails
      return { ok: false, message: thrownText(exception) ?? text }
    }
    const argument = argumentOf(result)
    const described = await this.#callTool<Described>('describe', argument, {
      value: options.limits ?? GLANCE,
    })
    return { ok: true, value: valueOf(described) }
  }

  /** Lets the agent run to its end. */
  async resume(): Promise<Ended> {
    const halt = await this.runTo(NEVER)
    if (halt.kind !== 'ended') throw misused('was held where nothing was wanted')
    return halt
  }

  /** Ends the process, wherever it is. */
  async close(): Promise<void> {
    this.#process.kill()
    this.#link.close()
    await this.#process.ended.catch(() => {})
  }

  async #step(method: string): Promise<Stop | Ended> {
    const stop = this.place
    if (stop.kind !== 'stop') throw misused('is not stopped at a line')
    await this.#want({ wanted: NEVER, wantedDelivery: NEVER })
    await this.#breakpoints.disarm()
    this.#leave()
    await this.#link.post(method)
    for (;;) {
      const halt = await this.#next()
      if (halt.kind === 'ended') return (this.#place = halt)
      if (halt.kind === 'held') throw misused('was held while stepping')
      const [top] = halt.paused.callFrames
      if (top && this.#scripts.isUsers(top.location.scriptId))
        return this.#stopped(stop.seq, halt.paused, stop.isDirect)
      // Stepped into a library: go on to the next line of user code.
      await this.#breakpoints.arm()
      await this.#resume()
    }
  }

  #userFrame({ callFrames }: Paused): number {
    const found = callFrames.findIndex(({ location }) => this.#scripts.isUsers(location.scriptId))
    return Math.max(0, found)
  }

  async #stopped(seq: number, paused: Paused, isDirect: boolean): Promise<Stop> {
    const [position, read] = await Promise.all([
      this.#callTool<number>('position'),
      this.#reader.read(paused.callFrames),
    ])
    const stop: Stop = { kind: 'stop', seq, position, isDirect, ...read }
    this.#place = stop
    return stop
  }

  /** From held to paused, with a debugger that listens. */
  async #attach(): Promise<Paused> {
    await this.#link.post('Retake.attend')
    if (!this.#isEnabled) await this.#link.post('Debugger.enable')
    this.#isEnabled = true
    await this.#link.post('Debugger.setBreakpointsActive', { active: true })
    await this.#link.post('Retake.pause')
    const halt = await this.#next()
    if (halt.kind !== 'paused') throw misused('did not pause when asked to')
    this.#tools ??= await this.#takeTools(halt.paused)
    return halt.paused
  }

  async #takeTools({ callFrames: [top] }: Paused): Promise<string | undefined> {
    const { result } = await this.#link.post<EvaluateResult>('Debugger.evaluateOnCallFrame', {
      callFrameId: top?.callFrameId,
      expression: 'tools',
    })
    return result.objectId
  }

  readonly #callTool: CallTool = async <T>(
    name: string,
    ...args: readonly ToolArgument[]
  ): Promise<T> => {
    const { result, exceptionDetails } = await this.#link.post<EvaluateResult>(
      'Runtime.callFunctionOn',
      {
        objectId: this.#tools,
        functionDeclaration: `function (...args) { return this.${name}(...args) }`,
        arguments: args,
        returnByValue: true,
      },
    )
    if (exceptionDetails)
      throw misused(exceptionDetails.exception?.description ?? exceptionDetails.text)
    return result.value as T
  }

  #want(wanted: { readonly wanted?: number; readonly wantedDelivery?: number }): Promise<unknown> {
    return this.#link.post('Retake.want', wanted)
  }

  /** Goes on from wherever it stands, and takes the debugger off. */
  async #letGo(): Promise<void> {
    const isPaused = this.#paused !== undefined
    this.#leave()
    if (isPaused) return this.#disable()
    if (this.#isEnabled) {
      await this.#link.post('Retake.attend')
      await this.#disable()
    }
    await this.#link.post('Retake.release')
  }

  /** Takes all breakpoints away; a paused thread goes on. */
  async #disable(): Promise<void> {
    this.#isEnabled = false
    this.#breakpoints.forget()
    await this.#link.post('Debugger.disable')
  }

  async #resume(): Promise<void> {
    this.#leave()
    await this.#link.post('Debugger.resume')
  }

  #leave(): void {
    this.#place = undefined
    this.#paused = undefined
  }

  #arrive(halt: Halt | Failed): void {
    this.#halts.push(halt)
    this.#onHalt?.()
  }

  async #next(): Promise<Halt> {
    while (this.#halts.length === 0) await new Promise<void>((resolve) => (this.#onHalt = resolve))
    const halt = this.#halts.shift() as Halt | Failed
    if (halt.kind === 'failed') throw halt.error
    this.#paused = halt.kind === 'paused' ? halt.paused : undefined
    return halt
  }
}

/** What was thrown, without its stack. */
function thrownText(exception: RemoteObject | undefined): string | undefined {
  if (exception === undefined) return undefined
  const { description, value } = exception
  return description === undefined ? JSON.stringify(value) : description.split('\n    at ')[0]
}

/** A mistake of the caller's or of Retake's own. */
const misused = (how: string): Error => new Error(`The probe ${how}.`)

const argumentOf = ({
  objectId,
  unserializableValue,
  value,
}: EvaluateResult['result']): ToolArgument =>
  objectId !== undefined
    ? { objectId }
    : unserializableValue !== undefined
      ? ({ unserializableValue } as unknown as ToolArgument)
      : { value }
