import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { startScriptedModel } from '../../../packages/runner/dist/agent/scripted-model.js'
import { atOldPort } from '../../support/at-old-port.js'
import { makeWorkspace, type Workspace } from '../../support/run-retake.mjs'
import { requestFixture } from './browser.js'
import { recordDemo, type DemoFacts } from './shared-fixtures.js'
import { addressesOf, type Ui } from './start-ui.js'

/** The demo in a folder of its own, which a test may change. */
export interface DemoRuns extends DemoFacts, Pick<Workspace, 'retake' | 'remove'> {
  /** Lets the scripted model answer again where the run recorded it, until the test is over. */
  startModel(): Promise<void>
}

export async function makeDemoRuns(): Promise<DemoRuns> {
  const workspace = await makeWorkspace()
  const demo = await recordDemo(workspace)
  return {
    ...demo,
    retake: workspace.retake,
    startModel: async () => {
      const model = await atOldPort(() => startScriptedModel(demo.port))
      onTestFinished(() => model.stop())
    },
    remove: workspace.remove,
  }
}

/** A folder with the runs of the shared demo, for more runs beside them. Their agent stays where it is. */
export async function copySharedDemo(): Promise<DemoFacts & Workspace> {
  const { demo } = await openSharedDemo()
  const workspace = await makeWorkspace()
  await cp(join(demo.folder, '.retake'), join(workspace.folder, '.retake'), { recursive: true })
  return { ...demo, ...workspace }
}

/** The demo and its viewer that all test files share: nothing in the folder may change. */
export async function openSharedDemo(): Promise<{
  readonly demo: DemoFacts
  readonly ui: Pick<Ui, 'url' | 'at' | 'token'>
}> {
  const { demo, url } = await requestFixture<{ demo: DemoFacts; url: string }>('demo')
  return { demo, ui: addressesOf(url) }
}
