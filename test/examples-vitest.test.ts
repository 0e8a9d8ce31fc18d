import { cp, mkdtemp, realpath, rm, symlink } from 'node:fs/promises'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { startModelServer } from '@retake/engine/testing'
import { openTape } from '@retake/tape/node'
import { expect, onTestFinished, test } from 'vitest'
import { run } from './support/run-retake.mjs'
import { soakOnly } from './support/soak.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const example = join(root, 'examples/vitest')
const vitest = join(root, 'node_modules/vitest/vitest.mjs')
const redirect = fileURLToPath(new URL('support/model-in-openais-place.mjs', import.meta.url))

const runExample = (folder: string, env: Readonly<Record<string, string>>) =>
  run(process.execPath, [vitest, 'run', '--root', folder, '--reporter=verbose'], folder, {
    env: { CI: '', OPENAI_API_KEY: '', OPENAI_BASE_URL: '', ...env },
  })

test('the committed tape replays, with no model and no key', async () => {
  const { code, stdout, stderr } = await runExample(example, { CI: 'true' })
  expect(code, stdout + stderr).toBe(0)
  expect(stdout).toContain('2 passed')
})

test('the tape can be recorded again, and replays', async () => {
  soakOnly()
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'retake-example-')))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  await cp(example, folder, {
    recursive: true,
    filter: (file) => !file.includes('node_modules'),
  })
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction')
  const server = await startModelServer({
    answer: () => ({
      text: 'DENIED – the order is older than 30 days.',
      usage: { input: 92, output: 14 },
    }),
  })
  onTestFinished(() => server.stop())
  const file = join(folder, 'tapes/late-refund.tape')
  const before = readFileSync(file)
  const recorded = await runExample(folder, {
    RETAKE_MODE: 'record',
    MODEL_URL: server.url,
    NODE_OPTIONS: `--import=${pathToFileURL(redirect).href}`,
  })
  expect(recorded.code, recorded.stdout + recorded.stderr).toBe(0)
  expect(server.requests).toHaveLength(2)
  await server.stop()
  expect(readFileSync(file).equals(before)).toBe(false)
  expect(openTape(file).verify().ok).toBe(true)
  const replayed = await runExample(folder, { CI: 'true' })
  expect(replayed.code, replayed.stdout + replayed.stderr).toBe(0)
})
