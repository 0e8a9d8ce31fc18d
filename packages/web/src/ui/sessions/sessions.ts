import { capturedState, checkExpression, spawnProbe } from '@retake/runner/debug'
import { randomUUID } from 'node:crypto'
import type { CapturedState, Tape } from '@retake/tape'
import { compareStates } from '../../model/state-view.js'
import type {
  Move,
  OpenedSession,
  SessionPosition,
  SessionValue,
  StackLineView,
} from '../../api/run-repository.js'
import { cliErrors } from '@retake/runner/errors'
import { RetakeError } from '@retake/engine/errors'
import {
  type Position,
  type StackLine,
  type StoppedPosition,
  Timeline,
} from '@retake/engine/inspect'
import { changedSources, fileHere, movedHere, sourceFiles, startOf } from '@retake/runner/agent'
import { RecordedCode, sourceListOf } from '@retake/runner/sources'
import { fromHere } from '@retake/runner/terminal'
import { viewRun } from '@retake/runner/runs'
import { stampText } from '../runs/run-models.js'

/** A stop of a timeline as a captured state: only user code, and no functions. */
async function stateAt(
  timeline: Timeline,
  stop: StoppedPosition,
  code: RecordedCode | undefined,
): Promise<CapturedState> {
  const { moment, stack } = stop
  const frames = await Promise.all(
    stack.map(async (line, index) =>
      line.isUser && !line.isAsync ? [{ ...line, variables: await timeline.locals(index) }] : [],
    ),
  )
  return capturedState(
    stop,
    {
      step: moment.label,
      seq: moment.seq,
      frames: frames.flat(),
      asyncFrames: stack.filter(({ isAsync, isUser }) => isAsync && isUser),
    },
    code,
  )
}

/** Position of a timeline for a page. `state`: of this stop. `before`: of the previous stop. */
function sessionPosition(
  position: Position,
  state: CapturedState | undefined,
  before: CapturedState | undefined,
): SessionPosition {
  if (position.kind === 'start') return { kind: 'start' }
  if (position.kind === 'end' || state === undefined)
    return { kind: 'end', ...(position.moment && { step: position.moment.label }) }
  const { moment, stack } = position
  return {
    kind: 'stop',
    step: moment.label,
    index: moment.index,
    title: moment.title,
    state: compareStates(before, state),
    stack: stack.map(stackLineView),
  }
}

const stackLineView = ({ location, ...line }: StackLine): StackLineView => {
  const { line: number, column } = location
  return { ...line, file: fromHere(location.file), line: number, column }
}

/** Keyframes per session, and memory of all of them. */
const LIMITS = { keyframes: 4, memoryBytes: 512 * 2 ** 20 }

/**
 * A movable position in a run, with the program paused there. Moves run one at a time. Runs the
 * recorded code if today's differs. Otherwise an edit makes the session outdated, so that versions
 * never mix.
 */
class RunSession {
  readonly #tapeStamp: string
  readonly #files: readonly string[]
  readonly #sources: string
  readonly #code: RecordedCode | undefined
  readonly #timeline: Timeline
  #state: CapturedState | undefined
  #position: SessionPosition = { kind: 'start' }
  #last: Promise<unknown> = Promise.resolve()

  /** Throws if the recorded program cannot be started here. */
  constructor(private readonly tape: Tape) {
    const { cwd = '.' } = tape.details
    const moved = movedHere(tape)
    this.#tapeStamp = stampText(tape.path)
    this.#files = [...sourceFiles(tape), ...Object.keys(sourceListOf(tape)?.files ?? {})].map(
      (file) => fileHere(cwd, file, moved),
    )
    this.#sources = stampText(...this.#files)
    this.#code = RecordedCode.ofChanged(tape)
    try {
      startOf(tape, this.#code?.root ?? moved)
    } catch (error) {
      this.#code?.[Symbol.dispose]()
      throw error
    }
    this.#timeline = new Timeline({
      tape,
      steps: viewRun(tape).recordedSteps,
      spawn: () => spawnProbe(tape, { code: this.#code }),
      ...LIMITS,
    })
  }

  get steps(): number {
    return this.#timeline.count
  }

  get code(): OpenedSession['code'] {
    return this.#code === undefined ? 'today' : 'recorded'
  }

  /** Why the session no longer shows this run. */
  get whyOutdated(): string | undefined {
    if (stampText(this.tape.path) !== this.#tapeStamp)
      return 'The tape of the run has changed since.'
    if (this.#code === undefined && stampText(...this.#files) !== this.#sources)
      return 'The code of the run has changed since.'
    return undefined
  }

  changedSources(): string[] {
    return (this.#code?.changed ?? changedSources(this.tape)).map(fromHere)
  }

  /** Skips a move aborted before its turn, because pages scroll past many steps quickly. */
  move(to: Move, signal?: AbortSignal): Promise<SessionPosition> {
    return this.#inTurn(async () => {
      if (signal?.aborted) return this.#position
      const position = await this.#goTo(to)
      // Already there. The changes of the last move are still of interest.
      if (
        this.#position.kind === 'stop' &&
        position.kind === 'stop' &&
        this.#position.step === position.moment.label
      )
        return this.#position
      const before = this.#state
      this.#state =
        position.kind === 'stop' ? await stateAt(this.#timeline, position, this.#code) : undefined
      return (this.#position = sessionPosition(position, this.#state, before))
    })
  }

  /** The program rejects an expression that would change anything. */
  evaluate(expression: string): Promise<SessionValue> {
    const checked = checkExpression(expression)
    return this.#inTurn(async () => {
      const evaluation = await this.#timeline.print(checked)
      if (!evaluation.ok) return { ok: false, type: 'error', text: evaluation.message, json: null }
      const { type, text, json, cut } = evaluation.value
      return { ok: true, type, text, json: json ?? null, cut }
    })
  }

  /** Resolves when all its processes are gone. */
  async close(): Promise<void> {
    using _copy = this.#code
    await this.#timeline.close()
  }

  async #goTo(to: Move): Promise<Position> {
    try {
      const timeline = this.#timeline
      if (to.to === 'step') return await timeline.jump(to.step)
      if (to.to === 'next') return await timeline.next()
      if (to.to === 'back') return await timeline.back()
      return await (to.to === 'next in lane' ? timeline.nextInLane() : timeline.backInLane())
    } catch (error) {
      if (!(error instanceof RetakeError) || error.code !== 'STEP_NOT_REACHED') throw error
      // The probable reason if a replay left the tape: changed code.
      const changed = this.code === 'today' ? this.changedSources() : []
      if (changed.length === 0) throw error
      const why = `${error.why} Saved since the recording: ${changed.join(', ')}.`
      throw new RetakeError(error.code, error.what, why, error.fix, { cause: error })
    }
  }

  #inTurn<T>(act: () => Promise<T>): Promise<T> {
    const done = this.#last.then(act)
    this.#last = done.catch(() => {})
    return done
  }
}

/** Each is a handful of processes. */
const SESSIONS_MAX = 4
const IDLE_MS = 10 * 60_000

interface Entry {
  readonly session: RunSession
  uses: number
  idle: NodeJS.Timeout
}

/**
 * Debug sessions of pages. A page closes its own. A session whose tab was closed or whose machine
 * sleeps is closed when idle for a while, or when too many others are opened.
 */
export class Sessions {
  readonly #idleMs: number
  /** Least recently used first. */
  readonly #entries = new Map<string, Entry>()
  readonly #closing = new Set<Promise<void>>()
  #isClosed = false

  constructor({ idleMs = IDLE_MS }: { readonly idleMs?: number } = {}) {
    this.#idleMs = idleMs
  }

  open(tape: Tape): OpenedSession {
    if (this.#isClosed) throw cliErrors.SERVER_CLOSING()
    const session = new RunSession(tape)
    const id = randomUUID()
    this.#entries.set(id, { session, idle: this.#closeLater(id), uses: 0 })
    for (const old of [...this.#entries.keys()].slice(0, -SESSIONS_MAX)) void this.close(old)
    const { steps, code } = session
    return { session: id, steps, code, changedSources: session.changedSources() }
  }

  move(id: string, to: Move, signal?: AbortSignal): Promise<SessionPosition> {
    return this.#use(id, (session) => session.move(to, signal))
  }

  evaluate(id: string, expression: string): Promise<SessionValue> {
    return this.#use(id, (session) => session.evaluate(expression))
  }

  /** Closing twice is not an error. */
  close(id: string): Promise<void> {
    const entry = this.#entries.get(id)
    if (entry === undefined) return Promise.resolve()
    this.#entries.delete(id)
    clearTimeout(entry.idle)
    const closing = entry.session.close()
    this.#closing.add(closing)
    return closing.finally(() => this.#closing.delete(closing))
  }

  /** Resolves when no process of any session is left. */
  async closeAll(): Promise<void> {
    this.#isClosed = true
    for (const id of this.#entries.keys()) void this.close(id)
    await Promise.all(this.#closing)
  }

  /** A session is not idle while it works. */
  async #use<T>(id: string, act: (session: RunSession) => Promise<T>): Promise<T> {
    const entry = this.#entries.get(id)
    if (entry === undefined)
      throw cliErrors.NO_SUCH_SESSION(
        id,
        'It was not used for a while, or others were opened after it.',
      )
    const { whyOutdated } = entry.session
    if (whyOutdated !== undefined) {
      void this.close(id)
      throw cliErrors.NO_SUCH_SESSION(id, whyOutdated)
    }
    clearTimeout(entry.idle)
    entry.uses++
    this.#entries.delete(id)
    this.#entries.set(id, entry)
    try {
      return await act(entry.session)
    } catch (error) {
      if (this.#entries.has(id)) throw error
      throw cliErrors.NO_SUCH_SESSION(id, 'It was closed meanwhile.')
    } finally {
      entry.uses--
      if (entry.uses === 0 && this.#entries.has(id)) entry.idle = this.#closeLater(id)
    }
  }

  #closeLater(id: string): NodeJS.Timeout {
    return setTimeout(() => void this.close(id), this.#idleMs).unref()
  }
}
