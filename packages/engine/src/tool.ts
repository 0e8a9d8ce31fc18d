import { decodeBody, encodeBody, rebuildError, recordError } from '@retake/tape/format'
import { callSite } from './call-site.js'
import { errors } from './errors.js'
import { currentSession, insideTool } from './scope.js'
import type { Operation, Session } from './sessions/session.js'

export interface ToolOptions {
  /** Error classes the tool throws: a replayed error is then an instance of the real class. */
  readonly errors?: Readonly<Record<string, new (...args: never[]) => Error>>
}

/**
 * Makes a function a boundary: its arguments and its result go on tape, and on
 * replay the function is never executed. Outside a run it just runs.
 *
 * Inside a run the caller gets the result as the tape holds it, when recording
 * too, so that both see the same: plain data, without prototypes or functions.
 */
export function tool<Args extends unknown[], Result>(
  name: string,
  run: (...args: Args) => Result | Promise<Result>,
  options: ToolOptions = {},
): (...args: Args) => Promise<Result> {
  return async (...args) => {
    const session = currentSession()
    if (session === undefined) return await run(...args)
    return (await callTool(
      session,
      name,
      run as (...args: unknown[]) => unknown,
      args,
      options,
    )) as Result
  }
}

function callTool(
  session: Session,
  name: string,
  run: (...args: unknown[]) => unknown,
  args: unknown[],
  options: ToolOptions,
): Promise<unknown> {
  const site = callSite()
  // A lone array stays wrapped: `f([1, 2])` is not `f(1, 2)`.
  const { as, body } = encodeBody(args.length === 1 && !Array.isArray(args[0]) ? args[0] : args)
  return new Promise((resolve, reject) => {
    const operation = session.perform({
      event: { type: 'call', kind: 'tool', name, as, ...(site !== undefined && { site }) },
      body,
      durable: 'deferrable',
      start: (live, edited) => void execute(live, name, run, edited ? argumentsOf(edited) : args),
      deliver: ({ event, body: result, native }) => {
        operation.close()
        if (event.type !== 'result') return
        if (event.error) reject(native ?? rebuildError(event.error, options.errors))
        else resolve(event.as === undefined ? undefined : decodeBody(event.as, result))
      },
    })
  })
}

/** Arguments as they stand on a tape. */
function argumentsOf(body: Uint8Array): unknown[] {
  const value = decodeBody('json', body)
  return Array.isArray(value) ? value : [value]
}

async function execute(
  operation: Operation,
  name: string,
  run: (...args: unknown[]) => unknown,
  args: unknown[],
): Promise<void> {
  try {
    const result = await insideTool(operation.session, () => run(...args))
    if (typeof result === 'object' && result !== null && Symbol.asyncIterator in result) {
      throw errors.TOOL_RESULT_NOT_RECORDABLE(name, 'an asynchronous iterator')
    }
    const { as, body } = encodeBody(result, {
      onLoss: (path, what) =>
        operation.session.note({
          kind: 'boundary',
          name: `tool ${name}`,
          text: `${what} in its result is not stored (at ${path || 'the top'})`,
          consequence: 'replay serves the result without it',
        }),
    })
    operation.complete({ type: 'result', as }, body)
  } catch (error) {
    operation.complete({ type: 'result', error: recordError(error) }, undefined, error)
  }
}
