import type { Tape } from '@retake/tape'
import { copyDemo, DEMO_AGENT, withDemoRun } from '../demo/shipped-folder.js'
import { RunStore } from '../runs/run-store.js'
import { writeFileSync } from 'node:fs'
import path from 'node:path'

type OptionValues = Readonly<Record<string, string | boolean>>

/** Copies the refund agent of the demo into a project of its own, records it, and fixes it there. */
export async function fixDemo(
  use: (tape: Tape, options: OptionValues) => Promise<number>,
): Promise<number> {
  process.chdir(path.dirname(copyDemo().pathOf(DEMO_AGENT)))
  writeFileSync('package.json', '{ "private": true, "type": "module" }\n')
  const store = new RunStore()
  store.prepare()
  process.stderr.write(`$ cd ${process.cwd()}\n`)
  return withDemoRun({ store, pathOf: (file) => file }, 'refund', (tape) => {
    process.stderr.write(
      "\nThe refund is wrong: the window has been 30 days since March.\n$ retake fix last --oracle 'stdout:/DENIED/' --no-ai --apply\n\n",
    )
    return use(tape, {
      oracle: 'stdout:/DENIED/',
      'no-ai': true,
      'no-locate': true,
      apply: true,
      yes: true,
      force: true,
    })
  })
}
