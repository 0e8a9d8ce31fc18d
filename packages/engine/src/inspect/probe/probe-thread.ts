import { InspectorLink, InspectorRefused } from './inspector-link.js'
import { type CallTool, FrameReader, GLANCE, type ToolArgument, valueOf } from './frame-reader.js'
import type { MovedRoot } from '../../player/moved-tape.js'
import type { Described, DescribeLimits } from './describe-value.js'
import type { CallFrame, EvaluateResult, Paused, RemoteObject, ScriptParsed } from './protocol.js'
import { Scripts } from './scripts.js'
import type { EventPosition } from './shared-slots.js'
import type { Value } from './stop.js'
import { UnsetVariables } from './unset-variables.js'
import { UserBreakpoints } from './user-breakpoints.js'
import type { Duplex } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import type { ReplayReport } from '../../plans/process-task.js'

/**
 * The process is halted immediately before this event reaches the agent, or immediately after the
 * agent started it.
 */
export interface HaltedAtEvent extends EventPosition {
  readonly kind: 'halted'
}

/** The agent ran to its end, or was stopped by a divergence. */
export interface Ended extends ProbeEnd {
  readonly kind: 'ended'
}

export type Halt = HaltedAtEvent | Ended | { readonly kind: 'paused'; readonly paused: Paused }

/** The process could not be started, or Retake failed inside it. */
interface Failed {
  readonly kind: 'failed'
  readonly error: unknown
}

export type Evaluation =
  | { readonly ok: true; readonly value: Value }
  /** `message` as printed: `TypeError: …`. */
  | { readonly ok: false; readonly message: string }

export interface EvaluateOptions {
  /** Frame in which to evaluate; the innermost frame of user code by default. */
  readonly frame?: number
  /** Allows side effects. By default, an expression with side effects fails before it has any. */
  readonly allowSideEffects?: boolean
  readonly limits?: DescribeLimits
}

const EVALUATE_MS = 5000
/** For a process that has passed its end of the pipe to another one. */
const DRAIN_MS = 5000
/** Group of objects that the inspector retains until they are described. */
const EVALUATED = 'evaluated'

/**
 * The main thread of an inspected process, as seen by the controller: the messages it is sent, and
 * where it halts. `Probe` builds on this.
 */
export class ProbeThread {
  readonly link: InspectorLink
  readonly scripts: Scripts
  readonly breakpoints: UserBreakpoints
  readonly reader: FrameReader
  /** Set while a debugger pauses the thread, at a line or at an event. */
  paused: Paused | undefined
  readonly #unset: UnsetVariables
  readonly #halts: (Halt | Failed)[] = []
  #onHalt: (() => void) | undefined
  #isEnabled = false
  #tools: string | undefined

  constructor(readonly process: ProbeProcess) {
    this.link = new InspectorLink(process.pipe)
    this.scripts = new Scripts(process.libraries ?? [], process.root)
    this.breakpoints = new UserBreakpoints(this.link, this.scripts)
    this.#unset = new UnsetVariables(this.link)
    this.reader = new FrameReader(this.scripts, this.#unset, this.callTool)
    this.link.on('Debugger.scriptParsed', (script: ScriptParsed) => this.scripts.add(script))
    this.link.on('Retake.halted', (at: EventPosition) => this.#arrive({ kind: 'halted', ...at }))
    this.link.on('Debugger.paused', (paused: Paused) => this.#arrive({ kind: 'paused', paused }))
    void this.#awaitEnd()
  }

  /** Ends after the last message, which may arrive after the process has ended. */
  async #awaitEnd(): Promise<void> {
    try {
      const end = await this.process.ended
      await Promise.race([this.link.drained, setTimeout(DRAIN_MS, undefined, { ref: false })])
      this.#arrive({ kind: 'ended', ...end })
    } catch (error) {
      this.#arrive({ kind: 'failed', error })
    }
  }

  async next(): Promise<Halt> {
    while (this.#halts.length === 0) await new Promise<void>((resolve) => (this.#onHalt = resolve))
    const halt = this.#halts.shift() as Halt | Failed
    if (halt.kind === 'failed') throw halt.error
    this.paused = halt.kind === 'paused' ? halt.paused : undefined
    return halt
  }

  /** Sets where to halt next; see `SLOT`. */
  want(wanted: { readonly wanted?: number; readonly wantedDelivery?: number }): Promise<unknown> {
    return this.link.post('Retake.want', wanted)
  }

  /** Attaches a debugger to a halted thread, which is then paused. */
  async attach(): Promise<Paused> {
    if (this.paused) return this.paused
    await this.link.post('Retake.attend')
    if (!this.#isEnabled) await this.link.post('Debugger.enable')
    this.#isEnabled = true
    await this.link.post('Debugger.setBreakpointsActive', { active: true })
    await this.link.post('Retake.pause')
    const halt = await this.next()
    if (halt.kind !== 'paused') throw misused('did not pause when asked to')
    if (this.#tools === undefined) {
      const [top] = halt.paused.callFrames
      const { result } = await this.link.post<EvaluateResult>('Debugger.evaluateOnCallFrame', {
        callFrameId: top?.callFrameId,
        expression: 'tools',
      })
      this.#tools = result.objectId
    }
    return halt.paused
  }

  /** Continues from a pause; breakpoints stay. */
  resume(how: 'resume' | 'stepOver' | 'stepInto' | 'stepOut' = 'resume'): void {
    this.paused = undefined
    this.link.notify(`Debugger.${how}`)
  }

  /** Continues from the current position, and detaches the debugger or mutes it. */
  async release(debuggerStays: boolean): Promise<void> {
    const isPaused = this.paused !== undefined
    this.paused = undefined
    if (debuggerStays && isPaused) {
      await this.link.post('Debugger.setBreakpointsActive', { active: false })
      this.link.notify('Debugger.resume')
    } else if (isPaused) {
      this.#forgetDebugger()
      // A paused thread continues when the debugger is disabled.
      this.link.notify('Debugger.disable')
    } else {
      if (this.#isEnabled && !debuggerStays) {
        this.#forgetDebugger()
        await this.link.post('Retake.attend')
        await this.link.post('Debugger.disable')
      }
      this.link.notify('Retake.release')
    }
  }

  /** Only valid while paused. `frame` is an index in the stack; without it, only globals are visible. */
  async evaluate(
    expression: string,
    frame: number | undefined,
    { allowSideEffects = false, limits = GLANCE }: EvaluateOptions,
  ): Promise<Evaluation> {
    const callFrame = frame === undefined ? undefined : this.paused?.callFrames[frame]
    const callFrameId = callFrame?.callFrameId
    const code = callFrame === undefined ? expression : await this.#guarded(expression, callFrame)
    // Reads of clock, random values or network by the expression must not consume the tape.
    await this.callTool('setAside', { value: true })
    const answer = await this.link
      .post<EvaluateResult>(
        callFrameId === undefined ? 'Runtime.evaluate' : 'Debugger.evaluateOnCallFrame',
        {
          expression: code,
          callFrameId,
          throwOnSideEffect: !allowSideEffects,
          timeout: EVALUATE_MS,
          objectGroup: EVALUATED,
        },
      )
      .catch(refusal)
    await this.callTool('setAside', { value: false })
    if (answer instanceof InspectorRefused) {
      const isLate = answer.reason.includes('terminated')
      const why = isLate ? `it did not end within ${EVALUATE_MS / 1000} s` : answer.reason
      return { ok: false, message: `Error: ${why}` }
    }
    const { result, exceptionDetails } = answer
    if (exceptionDetails) {
      const { exception, text } = exceptionDetails
      return { ok: false, message: thrownText(exception) ?? text }
    }
    const described = await this.callTool<Described>('describe', argumentOf(result), {
      value: limits,
    })
    await this.link.post('Runtime.releaseObjectGroup', { objectGroup: EVALUATED })
    return { ok: true, value: valueOf(described) }
  }

  /** Makes the expression fail if it uses a variable that has no value yet, as it would in the program. */
  async #guarded(expression: string, frame: CallFrame): Promise<string> {
    const unset = (await this.#unset.of(frame)).flatMap((names) => [...names])
    const words = new Set(expression.match(/[\p{ID_Start}$_][\p{ID_Continue}$]*/gu))
    const used = [...new Set(unset)].filter((name) => words.has(name))
    return used.length === 0 ? expression : `{ ${expression}\n; let ${used.join(', ')} }`
  }

  /** Index of the innermost frame of user code in the stack. */
  userFrame({ callFrames }: Paused): number | undefined {
    const found = callFrames.findIndex(({ location }) => this.scripts.isUsers(location))
    return found === -1 ? undefined : found
  }

  /** Calls one of the `InspectorTools`; only valid while paused. */
  readonly callTool: CallTool = async <T>(
    name: string,
    ...args: readonly ToolArgument[]
  ): Promise<T> => {
    const { result, exceptionDetails } = await this.link.post<EvaluateResult>(
      'Runtime.callFunctionOn',
      {
        objectId: this.#tools,
        functionDeclaration: `function (...args) { return this.${name}(...args) }`,
        arguments: args,
        returnByValue: true,
      },
    )
    if (exceptionDetails)
      throw misused(`failed: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`)
    return result.value as T
  }

  async kill(): Promise<void> {
    this.process.kill()
    this.link.close()
    await this.process.ended.catch(() => {})
  }

  #forgetDebugger(): void {
    this.#isEnabled = false
    this.breakpoints.forget()
  }

  #arrive(halt: Halt | Failed): void {
    this.#halts.push(halt)
    this.#onHalt?.()
  }
}

function refusal(error: unknown): InspectorRefused {
  if (error instanceof InspectorRefused) return error
  throw error
}

function thrownText(exception: RemoteObject | undefined): string | undefined {
  if (exception === undefined) return undefined
  const { description, value } = exception
  return description === undefined ? JSON.stringify(value) : description.split('\n    at ')[0]
}

const argumentOf = ({ objectId, unserializableValue, value }: RemoteObject): ToolArgument =>
  objectId !== undefined
    ? { objectId }
    : unserializableValue !== undefined
      ? { unserializableValue }
      : { value }

/** An incorrect use of the probe, by its caller or by Retake itself. */
export const misused = (how: string): Error => new Error(`The probe ${how}.`)

export interface ProbeEnd {
  readonly exitCode: number
  readonly signal?: NodeJS.Signals
  /** Missing if the process was killed. */
  readonly report?: ReplayReport
}

/**
 * A replay process that was started with `ReplayTask.inspect`, for a `Probe`. The command line
 * starts it, because it knows how to start an agent.
 */
export interface ProbeProcess {
  /** The controller's end of the pipe whose other end is `InspectTask.fd`. */
  readonly pipe: Duplex
  readonly ended: Promise<ProbeEnd>
  /** Undefined if it could not be started. */
  readonly pid?: number | undefined
  /** Prefixes of script URLs that are not user code, besides the engine, Node and node_modules. */
  readonly libraries?: readonly string[]
  /** Set if the program runs in a copy of its folder; files are then named as in the original. */
  readonly root?: MovedRoot
  kill(): void
}
