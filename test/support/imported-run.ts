import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeWorkspace, type Workspace } from './run-retake.mjs'

const TRACE = '0af7651916cd43dd8448eb211c80319c'

/** An agent that calls a model and a tool, and fails, as OTLP. */
function traceAt(startMs: number): string {
  const span = (id: number, name: string, attributes: Readonly<Record<string, string>>) => ({
    traceId: TRACE,
    spanId: String(id).padStart(16, '0'),
    ...(id > 1 && { parentSpanId: '0000000000000001' }),
    name,
    startTimeUnixNano: `${startMs + id}000000`,
    endTimeUnixNano: `${startMs + id + 1}000000`,
    status: id === 1 ? { code: 2, message: 'planted' } : {},
    attributes: Object.entries(attributes).map(([key, stringValue]) => ({
      key,
      value: { stringValue },
    })),
  })
  const spans = [
    span(1, 'invoke_agent shop', { 'gen_ai.operation.name': 'invoke_agent' }),
    span(2, 'chat gpt-5', { 'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'gpt-5' }),
    span(3, 'execute_tool refund', { 'gen_ai.operation.name': 'execute_tool' }),
  ]
  return JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] })
}

/** A workspace whose only run was imported. */
export async function workspaceWithImport(): Promise<{
  workspace: Workspace
  tape: string
  run: string
}> {
  const workspace = await makeWorkspace()
  // Young enough that `gc` and `prune` leave it.
  writeFileSync(join(workspace.folder, 'trace.json'), traceAt(Date.now() - 60_000))
  const { stdout } = await workspace.retake(['import', 'trace.json', '--json'])
  const { runs } = JSON.parse(stdout) as { runs: { run: string }[] }
  const run = runs[0]?.run ?? ''
  const tape = join(workspace.folder, '.retake', 'runs', `${run}.tape`)
  return { workspace, tape, run }
}
