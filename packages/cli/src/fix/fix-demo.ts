import type { Tape } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { startScriptedModel } from '../demo/scripted-model.js'
import { copyShipped } from '../demo/shipped-folder.js'
import { recordAgent } from '../agent/record-agent.js'
import { Interrupted } from '../command-line/exit-codes.js'
import { RunStore } from '../runs/run-store.js'
import { writeFileSync } from 'node:fs'
import path from 'node:path'

type OptionValues = Readonly<Record<string, string | boolean>>

/** Copies the refund agent of the demo into a project of its own, records it, and fixes it there. */
export async function fixDemo(
  use: (tape: Tape, options: OptionValues) => Promise<number>,
): Promise<number> {
  const shipped = copyShipped('demo', ['agent.ts', 'shop.json'])
  process.chdir(path.dirname(shipped.pathOf('agent.ts')))
  writeFileSync('package.json', '{ "private": true, "type": "module" }\n')
  const store = new RunStore()
  store.prepare()
  const model = await startScriptedModel()
  try {
    process.stderr.write(`$ cd ${process.cwd()}\n$ retake record agent.ts\n`)
    const recording = await recordAgent({
      store,
      entry: 'agent.ts',
      args: [],
      name: 'refund',
      env: { MODEL_URL: model.url },
      stdio: ['ignore', 'pipe', 'inherit'],
      onOutput: (chunk: Buffer) => void process.stderr.write(chunk),
    })
    if (recording.interruptedBy) throw new Interrupted(recording.interruptedBy)
    process.stderr.write(
      "\nThe refund is wrong: the window has been 30 days since March.\n$ retake fix last --oracle 'stdout:/DENIED/' --no-ai --apply\n\n",
    )
    return await use(openTape(recording.tape), {
      oracle: 'stdout:/DENIED/',
      'no-ai': true,
      'no-locate': true,
      apply: true,
      yes: true,
      force: true,
    })
  } finally {
    await model.stop()
  }
}
