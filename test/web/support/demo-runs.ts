import { environmentOnTape } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { startScriptedModel } from '../../../packages/cli/src/demo/scripted-model.js'
import { atOldPort } from '../../support/at-old-port.js'
import { makeWorkspace } from '../../support/run-retake.mjs'

/** The runs of the demo in a folder of their own: a refund that was wrongly approved, and its fork. */
export interface DemoRuns {
  readonly folder: string
  /** The agent as it lies on disk; it may be edited. */
  readonly agent: string
  /** Id of the recorded run. */
  readonly run: string
  /** Label of the tool that handed out the outdated policy; which one it is, chance decides. */
  readonly step: string
  /** Id of the branch that the demo itself forked there. */
  readonly branch: string
  /** Where the scripted model answered. */
  readonly port: number
  /** Runs the command line in the folder. */
  retake(args: readonly string[]): Promise<{ stdout: string; stderr: string; code: number | null }>
  /** Lets the scripted model answer again where the run recorded it, until the test is over. */
  startModel(): Promise<void>
  remove(): Promise<void>
}

export async function makeDemoRuns(): Promise<DemoRuns> {
  const workspace = await makeWorkspace()
  const { stdout } = await workspace.retake(['demo', '--json'])
  const { run, step, branch } = JSON.parse(stdout) as Pick<DemoRuns, 'run' | 'step' | 'branch'>
  const tape = openTape(join(workspace.folder, '.retake', 'runs', `${run}.tape`))
  const port = Number(new URL(environmentOnTape(tape).get('MODEL_URL')?.value ?? '').port)
  return {
    folder: workspace.folder,
    agent: join(workspace.folder, '.retake', 'demo', 'agent.ts'),
    run,
    step,
    branch,
    port,
    retake: (args) => workspace.retake(args),
    startModel: async () => {
      const model = await atOldPort(() => startScriptedModel(port))
      onTestFinished(() => model.stop())
    },
    remove: () => workspace.remove(),
  }
}
