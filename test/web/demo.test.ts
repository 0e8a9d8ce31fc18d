import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { folderWith } from '../cli/workspace.js'
import { openPage } from './support/browser.js'

const cli = fileURLToPath(new URL('../../packages/cli/bin/retake.mjs', import.meta.url))

test('the demo opens the viewer on the step that went wrong', async ({ onTestFinished }) => {
  const { folder } = await folderWith({})
  const demo = spawn(process.execPath, [cli, 'demo', '--open'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void demo.kill('SIGKILL'))
  let said = ''
  for await (const chunk of demo.stdout.setEncoding('utf8') as AsyncIterable<string>) {
    said += chunk
    if (said.includes('until Ctrl-C')) break
  }
  const [url = ''] = /http:\/\/\S+/.exec(said.slice(said.indexOf('See it'))) ?? []
  const page = await openPage()
  await page.goto(url)
  await page.getByRole('heading', { name: /search_policy/ }).waitFor()
  // The token has left the address, the step stands in it.
  expect([...new URL(page.url()).searchParams.keys()]).toEqual(['step'])
  await page.close()

  const ended = once(demo, 'exit')
  demo.kill('SIGINT')
  expect(await ended).toEqual([0, null])
})
