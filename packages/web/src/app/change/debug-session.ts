import type {
  Move,
  OpenedSession,
  SessionPosition,
  SessionValue,
} from '../../api/run-repository.js'
import type { Explained } from '../../model/run-source.js'
import { explainError } from '../sources/backend-error.js'
import type { LiveActions } from '../sources/backend.js'
import { Store } from '../design/store.js'

export interface Evaluated {
  readonly id: number
  readonly expression: string
  readonly step: string | undefined
  readonly value: SessionValue | undefined
  readonly error: Explained | undefined
}

export interface DebugState {
  readonly phase: 'closed' | 'opening' | 'moving' | 'paused'
  /** The step that it is moving to. */
  readonly goal: string | undefined
  readonly position: SessionPosition | undefined
  readonly error: Explained | undefined
  readonly changedSources: readonly string[]
  readonly code: OpenedSession['code']
  /** Newest last. */
  readonly evaluated: readonly Evaluated[]
  readonly watched: readonly Evaluated[]
}

const GONE = 'NO_SUCH_SESSION'

const CLOSED: DebugState = {
  phase: 'closed',
  goal: undefined,
  position: undefined,
  error: undefined,
  changedSources: [],
  code: 'today',
  evaluated: [],
  watched: [],
}

/**
 * The debug session of a run. Moves run one after another. Of several steps requested during a move,
 * only the last one is used.
 */
export class DebugSession extends Store<DebugState> {
  #session: Promise<string> | undefined
  #waiting: Move | undefined
  #isMoving = false
  /** Incremented with every move and close, to ignore late responses. */
  #generation = 0
  #lastId = 0
  readonly #run: string
  readonly #live: LiveActions

  constructor(run: string, live: LiveActions) {
    super(CLOSED)
    this.#run = run
    this.#live = live
  }

  get isOpen(): boolean {
    return this.#session !== undefined
  }

  async move(to: Move): Promise<void> {
    this.#waiting = to
    if (this.#isMoving) return
    this.#isMoving = true
    try {
      while (this.#waiting !== undefined) {
        const next: Move = this.#waiting
        this.#waiting = undefined
        await this.#moveOnce(next)
      }
    } finally {
      this.#isMoving = false
    }
  }

  async evaluate(expression: string): Promise<void> {
    const done = await this.#evaluate(expression)
    if (this.isOpen) this.#change({ evaluated: [...this.get().evaluated, done] })
  }

  async watch(expression: string): Promise<void> {
    const done = await this.#evaluate(expression)
    if (this.isOpen) this.#change({ watched: [...this.get().watched, done] })
  }

  unwatch(id: number): void {
    this.#change({ watched: this.get().watched.filter((each) => each.id !== id) })
  }

  /** Releases the program, but remembers watched expressions. */
  close(): void {
    this.#waiting = undefined
    this.#end()
    this.#change({ ...CLOSED, watched: this.get().watched })
  }

  async #moveOnce(to: Move): Promise<void> {
    const isFirst = this.#session === undefined
    this.#change({
      phase: isFirst ? 'opening' : 'moving',
      goal: to.to === 'step' ? to.step : undefined,
      error: undefined,
    })
    this.#session ??= this.#open()
    const life = ++this.#generation
    try {
      const position = await this.#use((session) => this.#live.move(session, to))
      if (this.#generation !== life) return
      this.#change({ phase: 'paused', goal: undefined, position })
      const again: Evaluated[] = []
      for (const { id, expression } of this.get().watched) {
        const done = await this.#evaluate(expression, id)
        if (this.#generation !== life) return
        again.push(done)
      }
      if (again.length > 0) this.#change({ watched: again })
    } catch (thrown) {
      if (this.#generation !== life) return
      const hasPosition = this.get().position !== undefined
      if (!hasPosition) this.#end()
      this.#change({
        phase: hasPosition ? 'paused' : 'closed',
        goal: undefined,
        error: explainError(thrown),
      })
    }
  }

  /** If the server has closed an idle session, reopens it at the same step. */
  async #use<T>(request: (session: string) => Promise<T>): Promise<T> {
    const session = this.#session
    if (session === undefined) throw new Error('no program is paused')
    try {
      return await request(await session)
    } catch (thrown) {
      if (explainError(thrown).code !== GONE || this.#session !== session) throw thrown
      const { position } = this.get()
      this.#session = this.#open()
      const reopened = await this.#session
      if (position !== undefined && position.kind !== 'start' && position.step !== undefined)
        await this.#live.move(reopened, { to: 'step', step: position.step })
      return request(reopened)
    }
  }

  #end(): void {
    const session = this.#session
    this.#session = undefined
    this.#generation++
    void session?.then((id) => this.#live.closeSession(id)).catch(() => {})
  }

  async #open(): Promise<string> {
    const { session, changedSources, code } = await this.#live.openSession(this.#run)
    this.#change({ changedSources, code })
    return session
  }

  async #evaluate(expression: string, id = ++this.#lastId): Promise<Evaluated> {
    const { position } = this.get()
    const step = position?.kind === 'stop' ? position.step : undefined
    try {
      const value = await this.#use((session) => this.#live.evaluate(session, expression))
      return { id, expression, step, value, error: undefined }
    } catch (thrown) {
      return { id, expression, step, value: undefined, error: explainError(thrown) }
    }
  }

  #change(part: Partial<DebugState>): void {
    this.set({ ...this.get(), ...part })
  }
}

const stores = new Map<string, DebugSession>()

export function debugSessionOf(run: string, live: LiveActions): DebugSession {
  const known = stores.get(run)
  if (known !== undefined) return known
  const made = new DebugSession(run, live)
  stores.set(run, made)
  return made
}

export function debugText({ phase, goal, position }: DebugState): string {
  if (phase === 'opening' || phase === 'moving')
    return goal === undefined ? 'replaying…' : `replaying to step ${goal}…`
  if (position === undefined || position.kind === 'start') return 'at the start'
  if (position.kind === 'stop') return `paused at step ${position.step}`
  return position.step === undefined ? 'at the end' : `at the end, after step ${position.step}`
}
