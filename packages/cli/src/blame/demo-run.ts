import type { Tape } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { Interrupted } from '../agent-process.js'
import { startScriptedModel } from '../demo/scripted-model.js'
import { copyShipped } from '../demo/shipped-folder.js'
import { recordAgent } from '../record-agent.js'

/** What the refund agent should have said, and what its tool should have handed out. */
export const DEMO_ORACLE = 'stdout:/DENIED/'
export const DEMO_FREE =
  'search_policy=set:text="Customers may return an item within 30 days of delivery."'

const MODEL_IS_GONE = `
The scripted model has been stopped: forks of this run that ask it now will fail.
retake demo --open records a run whose model stays at hand.
`

/** Records the refund agent of the demo, and keeps its scripted model at hand: forks ask it live. */
export async function withDemoRun(use: (tape: Tape) => Promise<number>): Promise<number> {
  const folder = copyShipped('demo', ['agent.ts', 'shop.json'])
  const model = await startScriptedModel()
  try {
    const entry = folder.pathOf('agent.ts')
    process.stderr.write(`$ retake record ${entry}\n`)
    const recording = await recordAgent({
      store: folder.store,
      entry,
      args: [],
      name: 'demo',
      env: { MODEL_URL: model.url },
      stdio: ['ignore', 'pipe', 'inherit'],
      onOutput: (chunk) => process.stderr.write(chunk),
    })
    if (recording.interruptedBy) throw new Interrupted(recording.interruptedBy)
    process.stderr.write(
      `$ retake blame last --oracle '${DEMO_ORACLE}' \\\n    --free '${DEMO_FREE}'\n`,
    )
    const code = await use(openTape(recording.tape))
    process.stderr.write(MODEL_IS_GONE)
    return code
  } finally {
    await model.stop()
  }
}
