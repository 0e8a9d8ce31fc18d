import { InspectorRefused, type InspectorLink } from './inspector-link.js'
import type { ScriptLocation } from './protocol.js'
import type { Scripts } from './scripts.js'

/** Every location at which a script can stop. V8 returns at most 1,000 at a time, in order. */
export async function possibleLocations(
  link: InspectorLink,
  scriptId: string,
): Promise<readonly ScriptLocation[]> {
  const found: ScriptLocation[] = []
  let start: ScriptLocation = { scriptId, lineNumber: 0, columnNumber: 0 }
  for (;;) {
    const { locations } = await link.post<{ locations: readonly ScriptLocation[] }>(
      'Debugger.getPossibleBreakpoints',
      { start },
    )
    // For a position after the end of the script, V8 returns the end again.
    const later = locations.filter(
      (location) =>
        start.lineNumber < location.lineNumber ||
        (start.lineNumber === location.lineNumber &&
          (start.columnNumber ?? 0) <= (location.columnNumber ?? 0)),
    )
    const last = later.at(-1)
    if (last === undefined) return found
    for (const location of later) found.push(location)
    const { lineNumber, columnNumber = 0 } = last
    start = { scriptId, lineNumber, columnNumber: columnNumber + 1 }
  }
}

/**
 * Breakpoints at every location of every user script, so that the debugger stops at whatever user
 * code runs next. (Blackbox patterns do not apply to Node's own code.)
 */
export class UserBreakpoints {
  readonly #armed = new Set<string>()
  #ids: string[] = []

  constructor(
    readonly link: InspectorLink,
    readonly scripts: Scripts,
  ) {}

  /** Only valid while the thread is paused. Adds scripts that were loaded since the last call. */
  async arm(): Promise<void> {
    const added = this.scripts.users.filter(({ scriptId }) => !this.#armed.has(scriptId))
    await Promise.all(
      added.map(async ({ scriptId }) => {
        this.#armed.add(scriptId)
        const possible = await possibleLocations(this.link, scriptId)
        const locations = possible.length > 0 ? possible : await this.#mappedOrLines(scriptId)
        const users = locations.filter((location) => this.scripts.isUsers(location))
        await Promise.all(users.map((location) => this.#set(location)))
      }),
    )
  }

  /**
   * Node 24 knows no possible locations of a CommonJS module whose outermost function was collected
   * as garbage, but accepts breakpoints in functions that are still there.
   */
  async #mappedOrLines(scriptId: string): Promise<readonly ScriptLocation[]> {
    const mapped = this.scripts.mappedLocations(scriptId)
    if (mapped.length > 0) return mapped
    const { scriptSource } = await this.link.post<{ scriptSource: string }>(
      'Debugger.getScriptSource',
      { scriptId },
    )
    return scriptSource
      .split('\n')
      .map((_, lineNumber) => ({ scriptId, lineNumber, columnNumber: 0 }))
  }

  async disarm(): Promise<void> {
    const ids = this.#ids
    this.forget()
    await Promise.all(
      ids.map((breakpointId) => this.link.post('Debugger.removeBreakpoint', { breakpointId })),
    )
  }

  /** Called when the debugger was disabled, which removes all breakpoints. */
  forget(): void {
    this.#armed.clear()
    this.#ids = []
  }

  async #set({ scriptId, lineNumber, columnNumber }: ScriptLocation): Promise<void> {
    const location = { scriptId, lineNumber, columnNumber }
    try {
      const { breakpointId } = await this.link.post<{ breakpointId: string }>(
        'Debugger.setBreakpoint',
        { location },
      )
      this.#ids.push(breakpointId)
    } catch (error) {
      // The debugger may treat two locations as the same.
      if (!(error instanceof InspectorRefused)) throw error
    }
  }
}
