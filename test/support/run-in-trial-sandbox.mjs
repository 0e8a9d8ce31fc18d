/**
 * Runs code in the sandbox of `retake fix`, without the engine, so that only the sandbox confines it:
 * `node run-in-trial-sandbox.mjs <tape> <module> [live]`. Its output is that of the code.
 */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { openTape } from '@retake/tape/node'
import { Project, ProjectCopy } from '../../packages/cli/dist/fix/project-copy.js'
import { TrialSandbox } from '../../packages/cli/dist/fix/trial-sandbox.js'

const [file = '', module = '', mode] = process.argv.slice(2)
const tape = openTape(file)
const folder = mkdtempSync(path.join(realpathSync(tmpdir()), 'retake-sandbox-test-'))
const copy = new ProjectCopy(new Project(tape), [])
const sandbox = new TrialSandbox(folder, TrialSandbox.kindFor(tape).kind, [])
const child = sandbox.launcher(copy)(tape, mode === 'live')(
  process.execPath,
  [path.join(copy.folder, module)],
  { cwd: copy.folder, env: process.env, stdio: ['ignore', 'inherit', 'inherit'] },
  folder,
)
const timer = setTimeout(() => child.kill('SIGKILL'), 20_000)
child.on('close', (code, signal) => {
  clearTimeout(timer)
  console.log(JSON.stringify({ code, signal }))
  sandbox.close()
  copy.remove()
  rmSync(folder, { recursive: true, force: true })
})
