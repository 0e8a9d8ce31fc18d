import { decodeBody } from '@retake/tape/format'
import { performTool } from '../boundaries/patching/tool-call.js'
import { errors } from '../errors.js'
import { currentSession } from '../kernel/scope.js'

export interface ToolOptions {
  /** Error classes that the tool throws, so that a replayed error is an instance of the real class. */
  readonly errors?: Readonly<Record<string, new (...args: never[]) => Error>>
}

/**
 * Makes a function a boundary: its arguments and its result are recorded, and on replay the
 * function is never called. Outside a run it is called directly. Inside a run, the caller always
 * gets the result as stored on the tape, so that recording and replay see the same: plain data,
 * without prototypes or functions.
 */
export function tool<Args extends unknown[], Result>(
  name: string,
  run: (...args: Args) => Result | Promise<Result>,
  options: ToolOptions = {},
): (...args: Args) => Promise<Result> {
  return async (...args) => {
    const session = currentSession()
    if (session === undefined) return await run(...args)
    return (await performTool(session, {
      name,
      durable: 'deferrable',
      // A single array stays wrapped: `f([1, 2])` is not `f(1, 2)`.
      input: args.length === 1 && !Array.isArray(args[0]) ? args[0] : args,
      run: async (edited) => {
        const given = edited ? [decodeBody('json', edited)].flat() : args
        const result = await run(...(given as Args))
        if (typeof result === 'object' && result !== null && Symbol.asyncIterator in result)
          throw errors.TOOL_RESULT_NOT_RECORDABLE(name, 'an asynchronous iterator')
        return result
      },
      lossNote: { name: `tool ${name}`, consequence: 'loss-ignored' },
      errorClasses: options.errors,
    })) as Result
  }
}
