import { afterAll, beforeAll, describe } from 'vitest'
import { makeWorkspace, type Workspace } from '../support/run-retake.mjs'
import { isSoak } from '../support/soak.js'
import { openPage } from './support/browser.js'
import { makeReportFile, reportUrl } from './support/report-file.js'
import { describeStepPanel, writePanelRuns } from './support/step-panel-suite.js'

// Before a merge, the local UI stands for both; report.test.ts opens reports.
describe.runIf(isSoak)('a step', () => {
  let workspace: Workspace
  const files = new Map<string, Promise<string>>()

  beforeAll(async () => {
    workspace = await makeWorkspace()
    writePanelRuns(workspace.folder)
  })

  afterAll(() => workspace.remove())

  describeStepPanel('a report opened from disk', async (run) => {
    const made = files.get(run) ?? makeReportFile(workspace, run)
    files.set(run, made)
    const file = await made
    const page = await openPage({
      offline: true,
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    return {
      page,
      goTo: async (place) => {
        const search = new URLSearchParams({ ...place }).toString()
        await page.goto(reportUrl(file, run, `?${search}`))
      },
    }
  })
})
