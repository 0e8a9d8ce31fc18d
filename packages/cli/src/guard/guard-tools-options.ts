import type { GuardedToolOptions } from '@retake/engine/guard'

/** What every `guardTools` takes. */
export interface GuardToolsOptions {
  /** What the framework does not say of tools, by their names: effects, contract, time, retries. */
  readonly tools?: Readonly<Record<string, GuardedToolOptions<never>>>
  /**
   * `tell`: the model reads why a call was denied and can go on. `throw`: the run of the
   * agent ends with the `GuardError`. `tell` unless set.
   */
  readonly onDenied?: 'tell' | 'throw'
}

/** What was said of one tool. Tools may be called anything, `constructor` for example. */
export const toolOptions = (
  { tools = {} }: GuardToolsOptions,
  name: string,
): GuardedToolOptions<unknown> =>
  (Object.hasOwn(tools, name) ? (tools[name] ?? {}) : {}) as GuardedToolOptions<unknown>
