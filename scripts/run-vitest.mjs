import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root, runCommand } from './run-command.mjs'

/**
 * Runs vitest with its output shown, and counts what it reports. A test file
 * that could not be loaded, an error outside any test and a vitest that died
 * count as one failure each, so that none of them can look like success.
 *
 * @param {{ args?: readonly string[], node?: string, env?: Readonly<Record<string, string>> }} [options]
 *   `node`: the Node to run with.
 * @returns {Promise<{ passed: number, failed: number, skipped: number, seconds: number }>}
 */
export async function runVitest({ args = [], node = 'node', env = {} } = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'retake-vitest-'))
  const report = join(folder, 'report.json')
  try {
    const { ok, seconds } = await runCommand(
      node,
      [
        join(root, 'node_modules/vitest/vitest.mjs'),
        'run',
        '--reporter=default',
        '--reporter=json',
        `--outputFile.json=${report}`,
        ...args,
      ],
      { show: true, env },
    )
    const counts = countResults(await readReport(report))
    if (!ok && counts.failed === 0) counts.failed = 1
    return { ...counts, seconds }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function readReport(path) {
  try {
    return JSON.parse(await readFile(path, 'utf8'))
  } catch {
    return undefined
  }
}

function countResults(report) {
  if (report === undefined) return { passed: 0, failed: 1, skipped: 0 }
  const unloadable = report.testResults.filter(
    (file) =>
      file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'),
  )
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests + unloadable.length,
    skipped: report.numPendingTests + report.numTodoTests,
  }
}
