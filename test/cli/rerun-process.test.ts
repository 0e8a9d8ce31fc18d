import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeWorkspace } from '../support/run-retake.mjs'

/** Answers each line after a while, so that a recorded answer would always be there first. */
const child = `
process.stdin.setEncoding('utf8').on('data', (text) => {
  setTimeout(() => process.stdout.write('echo ' + text), 50)
})
`

const agent = `
import { spawn } from 'node:child_process'
import { once } from 'node:events'

const child = spawn(process.execPath, ['child.mjs'], { stdio: ['pipe', 'pipe', 'inherit'] })
child.on('exit', (code, signal) => console.log('ended', code, signal))
for (const word of ['one', 'two', 'six']) {
  child.stdin.write(word + '\\n')
  const [bytes] = await Promise.race([once(child.stdout, 'data'), once(child, 'exit')])
  console.log(String(bytes).trim())
}
child.stdin.end()
`

test('a child process with other input in a rerun does not give its recorded answer', async () => {
  const workspace = await makeWorkspace()
  try {
    await writeFile(join(workspace.folder, 'child.mjs'), child)
    await writeFile(join(workspace.folder, 'agent.mjs'), agent)
    const recorded = await workspace.retake(['record', 'agent.mjs'])
    expect(recorded.stdout).toBe('echo one\necho two\necho six\nended 0 null\n')
    await writeFile(join(workspace.folder, 'agent.mjs'), agent.replace("'six'", "'ten'"))
    const rerun = await workspace.retake(['rerun', 'last'])
    expect(rerun.stdout, rerun.stderr).toBe('echo one\necho two\nended null SIGKILL\nnull\n')
    expect(rerun.stderr.replaceAll(/\s+/g, ' ')).toContain(
      'it wrote something else to spawn node child.mjs',
    )
  } finally {
    await workspace.remove()
  }
})
