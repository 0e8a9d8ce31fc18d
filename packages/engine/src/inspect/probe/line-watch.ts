import type { DescribeLimits } from './describe-value.js'
import type { Ended, Evaluation, ProbeThread } from './probe-thread.js'
import type { Paused, ScriptParsed } from './protocol.js'
import type { CodeLocation } from '@retake/tape'
import { possibleLocations } from './user-breakpoints.js'

export interface WatchLineOptions {
  /** Absolute path of the source file. */
  readonly file: string
  readonly line: number
  readonly expression: string
  readonly allowSideEffects?: boolean
  readonly limits?: DescribeLimits
  /** From an earlier watch that found the line after it had run. */
  readonly known?: readonly KnownLocation[]
  readonly onHit: (hit: LineHit) => void
}

/** Where the line is in a script that Node loads with `require`. */
export interface KnownLocation {
  readonly url: string
  readonly lineNumber: number
  readonly columnNumber: number
}

export interface LineHit {
  /** Counts from 1. */
  readonly hit: number
  /** Number of events consumed so far. */
  readonly position: number
  readonly location: CodeLocation
  readonly evaluation: Evaluation
}

export interface WatchedLine {
  readonly end: Ended
  readonly hits: number
  readonly wasLoaded: boolean
  /** If no code begins on the line: the next line with code. */
  readonly nextLineWithCode?: number
  /** Set if the line was found too late: watch again in a new process, passing these. */
  readonly known?: readonly KnownLocation[]
}

/**
 * Evaluates an expression each time a line runs. ES modules are stopped before they run, to find
 * the line through their source maps. CommonJS modules cannot be stopped like this, so a breakpoint
 * is set in advance, by the lines of the file itself or by the result of an earlier watch.
 */
export class LineWatch {
  readonly #stoppedAt = new Set<string>()
  #advance: readonly string[] = []
  #hits = 0
  #nextLine: number | undefined

  constructor(
    readonly thread: ProbeThread,
    readonly options: WatchLineOptions,
  ) {}

  async run(): Promise<WatchedLine> {
    const { link, scripts } = this.thread
    await link.post('Debugger.setInstrumentationBreakpoint', {
      instrumentation: 'beforeScriptExecution',
    })
    const { file, line, known } = this.options
    const own = { url: scripts.urlOf(file), lineNumber: line - 1, columnNumber: 0 }
    this.#advance = await Promise.all(
      (known ?? [own]).map(async (location) => {
        const { breakpointId } = await link.post<{ breakpointId: string }>(
          'Debugger.setBreakpointByUrl',
          location,
        )
        return breakpointId
      }),
    )

    for (;;) {
      this.thread.resume()
      const halt = await this.thread.next()
      if (halt.kind === 'paused') await this.#look(halt.paused)
      if (halt.kind === 'ended') {
        const loaded = scripts.users.filter((script) => scripts.isMadeOf(script, file))
        return {
          end: halt,
          hits: this.#hits,
          wasLoaded: loaded.length > 0,
          ...(this.#nextLine !== undefined && { nextLineWithCode: this.#nextLine }),
          ...this.#learnt(loaded),
        }
      }
    }
  }

  async #look(paused: Paused): Promise<void> {
    const { scripts } = this.thread
    const [top] = paused.callFrames
    if (top === undefined) return
    const script = scripts.byId.get(top.location.scriptId)
    if (paused.reason === 'instrumentation') {
      if (script && scripts.isMadeOf(script, this.options.file)) await this.#setIn(script)
      return
    }
    const at = scripts.lineIn(this.options.file, top.location)
    if (at !== undefined) await this.#hit(scripts.locate(top.location), at.line)
  }

  /** Sets breakpoints in a module that is about to run. */
  async #setIn(script: ScriptParsed): Promise<void> {
    const { link, scripts } = this.thread
    const { file, line } = this.options
    this.#stoppedAt.add(script.scriptId)
    await Promise.all(
      this.#advance.map((breakpointId) => link.post('Debugger.removeBreakpoint', { breakpointId })),
    )
    this.#advance = []
    const locations = (await possibleLocations(link, script.scriptId)).flatMap((location) => {
      const source = scripts.lineIn(file, location)
      return source === undefined ? [] : [{ location, source }]
    })
    const onLine = locations.filter(({ source }) => source.line === line)
    const [first] = onLine.toSorted((a, b) => a.source.column - b.source.column)
    if (first) {
      const { scriptId, lineNumber, columnNumber } = first.location
      await link.post('Debugger.setBreakpoint', {
        location: { scriptId, lineNumber, columnNumber },
      })
    } else {
      const later = locations.map(({ source }) => source.line).filter((each) => each > line)
      this.#nextLine = later.toSorted((a, b) => a - b)[0]
    }
  }

  /** `at`: the watched line in the file, which may be the start of a mapping. */
  async #hit(location: CodeLocation, at: number): Promise<void> {
    const { line, expression, onHit, ...options } = this.options
    if (at !== line) {
      // A breakpoint set in advance on a line without code moves to the next line with code.
      this.#nextLine = at
      return
    }
    const position = await this.thread.callTool<number>('position')
    const evaluation = await this.thread.evaluate(expression, 0, options)
    this.#hits += 1
    onHit({ hit: this.#hits, position, location, evaluation })
  }

  /**
   * Scripts with the line that were not stopped before they ran, and that a source map assigns to
   * the file.
   */
  #learnt(loaded: readonly ScriptParsed[]): Pick<WatchedLine, 'known'> {
    const { file, line, known } = this.options
    if (known !== undefined) return {}
    const locations = loaded
      .filter(({ scriptId }) => !this.#stoppedAt.has(scriptId))
      .flatMap((script) => this.thread.scripts.generatedFrom(script, file, line))
    return locations.length === 0 ? {} : { known: locations }
  }
}
