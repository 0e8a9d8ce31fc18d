import { afterAll, beforeAll, describe } from 'vitest'
import { makeWorkspace, type Workspace } from '../support/run-retake.mjs'
import { isSoak } from '../support/soak.js'
import { openOfflinePage, makeReportFile, reportUrl } from './support/report-file.js'
import { describeRunPage } from './support/run-page-suite.js'
import { writeTeamRun } from './support/team-run.js'

// Before a merge, the local UI stands for both; report.test.ts opens reports.
describe.runIf(isSoak)('a page of a run', () => {
  let workspace: Workspace
  let file = ''

  beforeAll(async () => {
    workspace = await makeWorkspace()
    writeTeamRun(workspace.folder)
    file = await makeReportFile(workspace, 'team')
  })

  afterAll(() => workspace.remove())

  describeRunPage('a report opened from disk', async (search = '', options = {}) => {
    const page = await openOfflinePage(options)
    await page.goto(reportUrl(file, 'team', search))
    await page.getByRole('grid').waitFor()
    return page
  })
})
