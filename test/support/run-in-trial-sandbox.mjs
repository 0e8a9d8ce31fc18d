/**
 * Runs code in the sandbox of `retake fix`, without the engine, so that only the sandbox confines it:
 * `node run-in-trial-sandbox.mjs <tape> <module> [live]`. Its output is that of the code. With
 * `ended` instead of `live`, ends the code many times while its sandbox starts, and prints the
 * signals that ended it and the number of processes that are left.
 */
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { openTape } from '@retake/tape/node'
import { AgentProject, ProjectCopy } from '../../packages/lab/dist/fix/project-copy.js'
import { TrialSandbox } from '../../packages/lab/dist/fix/trial-sandbox.js'

const [file = '', module = '', mode] = process.argv.slice(2)
const tape = openTape(file)
const folder = mkdtempSync(path.join(realpathSync(tmpdir()), 'retake-sandbox-test-'))
const copy = new ProjectCopy(new AgentProject(tape), [])
const sandbox = new TrialSandbox(folder, TrialSandbox.kindFor(tape).kind, [])
const launch = sandbox.launcher(copy)(tape, mode === 'live')
const start = (output) =>
  launch.start(
    process.execPath,
    [path.join(copy.folder, module)],
    { cwd: copy.folder, env: process.env, stdio: ['ignore', output, output] },
    folder,
  )

if (mode === 'ended') {
  const signals = new Set()
  for (let afterMs = 0; afterMs < 20; afterMs++) {
    const child = start('ignore')
    await pause(afterMs)
    launch.kill(child, 'SIGTERM')
    const [, signal] = await once(child, 'exit')
    signals.add(signal)
  }
  await pause(200)
  const left = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && isOfSandbox(name))
  for (const pid of left) process.kill(Number(pid), 'SIGKILL')
  console.log(JSON.stringify({ signals: [...signals], left: left.length }))
} else {
  const child = start('inherit')
  const timer = setTimeout(() => launch.kill(child, 'SIGKILL'), 20_000)
  const [code, signal] = await once(child, 'close')
  clearTimeout(timer)
  console.log(JSON.stringify({ code, signal }))
}
sandbox.close()
copy.remove()
rmSync(folder, { recursive: true, force: true })

function isOfSandbox(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(copy.folder)
  } catch {
    return false
  }
}
