import { decodeBody, encodeBody, rebuildError, recordError } from '@retake/tape/format'
import type { Consequence, ErrorClasses } from '@retake/tape/format'
import { siteField } from '../../kernel/call-site.js'
import { insideTool } from '../../kernel/scope.js'
import type { Operation, Session } from '../../kernel/session.js'

export interface ToolCall {
  readonly name: string
  readonly title?: string
  readonly input: unknown
  readonly durable: true | 'deferrable'
  /** Makes the real call, outside the run. `edited` replaces `input` if a fork changes the request. */
  run(edited?: Uint8Array): Promise<unknown>
  /** Written if the result cannot be stored completely. */
  readonly lossNote: { readonly name: string; readonly consequence?: Consequence }
  readonly errorClasses?: ErrorClasses | undefined
}

/** Makes a call whose input and result are recorded; on replay, the call is not made. */
export function performTool(session: Session, call: ToolCall): Promise<unknown> {
  const { as, body } = encodeBody(call.input)
  return new Promise((resolve, reject) => {
    const operation = session.perform({
      event: {
        type: 'call',
        kind: 'tool',
        name: call.name,
        as,
        ...(call.title !== undefined && { title: session.secrets.text(call.title) }),
        ...siteField(),
      },
      body,
      durable: call.durable,
      start: (live, edited) => void execute(live, call, edited),
      deliver: ({ event, body: result, native }) => {
        operation.close()
        if (event.type !== 'result') return
        if (event.error) reject(native ?? rebuildError(event.error, call.errorClasses))
        else resolve(event.as === undefined ? undefined : decodeBody(event.as, result))
      },
    })
  })
}

async function execute(
  operation: Operation,
  call: ToolCall,
  edited: Uint8Array | undefined,
): Promise<void> {
  const { session } = operation
  try {
    const result = await insideTool(session, () => call.run(edited))
    const { as, body } = encodeBody(result, {
      onLoss: (path, what) =>
        session.note({
          kind: 'boundary',
          text: `${what} in its result is not stored (at ${path || 'the top'})`,
          ...call.lossNote,
        }),
    })
    operation.complete({ type: 'result', as }, body)
  } catch (error) {
    operation.complete({ type: 'result', error: recordError(error) }, undefined, error)
  }
}
