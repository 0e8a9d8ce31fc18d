import type { CallUsage } from '@retake/tape'
import type { ToolContext } from '../guarded-tool.js'
import type { LazySignal } from './lazy-signal.js'

/** What a tool is told. A getter of the class costs nothing until the signal is looked at. */
export class CallContext implements ToolContext {
  readonly #lazy: LazySignal

  constructor(
    signal: LazySignal,
    readonly idempotencyKey: string,
    readonly attempt: number,
    readonly use: (usage: CallUsage) => void,
  ) {
    this.#lazy = signal
  }

  get signal(): AbortSignal {
    return this.#lazy.signal
  }
}
