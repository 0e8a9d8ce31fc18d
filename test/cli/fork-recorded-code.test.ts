import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openTape } from '@retake/tape/node'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startEffectProvider } from '../support/effect-provider.mjs'
import { folderWith, tapesOf } from './workspace.js'

let provider: Awaited<ReturnType<typeof startEffectProvider>>
beforeAll(async () => {
  provider = await startEffectProvider()
})
afterAll(() => provider.close())

const LIBRARY = `export const polite = (name) => 'Dear ' + name\n`
/** Two steps; the second is sent with what the first one answered, and with a path of the project. */
const AGENT = `import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { polite } from './lib.mjs'
const ask = async (body) =>
  (await (await fetch(process.env.AGENT_BASE_URL + '/effect', { method: 'POST', body })).json()).seen
const first = await ask(polite('Ann'))
const second = await ask(polite(first) + ' ' + fileURLToPath(import.meta.url))
writeFileSync('out.txt', second)
console.log(first, second)
`

async function recorded() {
  const workspace = await folderWith({
    'agent.mjs': AGENT,
    'lib.mjs': LIBRARY,
    'package.json': '{}\n',
  })
  const { folder, retake } = workspace
  await retake(['record', 'agent.mjs'], { env: { AGENT_BASE_URL: provider.url } })
  writeFileSync(join(folder, 'lib.mjs'), LIBRARY.replace('Dear', 'Hi'))
  rmSync(join(folder, 'out.txt'))
  const fork = (...args: string[]) =>
    retake(['fork', 'last', '--at', '1', '--set', 'seen="edited"', ...args], {
      env: { AGENT_BASE_URL: provider.url },
    })
  return { ...workspace, fork }
}

test('after an edit, a fork runs the recorded code, live after the change', async () => {
  const workspace = await recorded()
  const { folder, retake, fork } = workspace
  const today = await fork()
  expect(today.code).toBe(3)
  expect(today.stderr).toContain('Changed since the recording: lib.mjs.')
  provider.counts.clear()

  const forked = await fork('--code', 'recorded')
  expect(forked.stderr).toMatch(/forked .*\n {2}code {5}as recorded; changed since: lib\.mjs\n/)
  expect(forked.code).toBe(0)
  expect([...provider.counts]).toEqual([[expect.stringContaining('Dear edited'), 1]])
  expect(existsSync(join(folder, 'out.txt'))).toBe(false)

  // Nothing on the tape of the branch names the copy, which is gone.
  const [parent, branch] = (await tapesOf(workspace)).map((file) => openTape(file))
  expect(branch?.details).toMatchObject({ cwd: folder, code: parent?.details.code })
  expect(readFileSync(branch?.path ?? '').includes('retake-code-')).toBe(false)
  const replayed = await retake(['replay', 'last', '--code', 'recorded'])
  expect(replayed.stderr).toContain('identical')
  const files = await retake(['branches', 'last', '--files', '--json'])
  expect(JSON.parse(files.stdout)).toMatchObject({
    changes: [{ path: join(folder, 'out.txt'), kind: 'added' }],
  })

  const json = await fork('--code', 'recorded', '--json')
  const [line = ''] = json.stderr.trim().split('\n').slice(-1)
  expect(JSON.parse(line)).toMatchObject({ changedCode: [join(folder, 'lib.mjs')] })
})

test('several changes, and a changed request, run with the recorded code', async () => {
  const { folder, retake, fork } = await recorded()
  const both = await fork('--at', '2', '--set', 'seen="second"', '--code', 'recorded')
  expect(both.stdout).toBe('edited second\n')
  expect(both.code).toBe(0)
  expect((await retake(['replay', 'last', '--code', 'recorded'])).stderr).toContain('identical')
  const offline = await retake(
    ['fork', 'last~1', '--at', '1', '--set', 'seen="x"', '--tail', 'offline', '--code', 'recorded'],
    { env: { AGENT_BASE_URL: provider.url } },
  )
  expect(offline.stderr).toContain('Nothing was sent.')
  expect(readdirSync(folder).toSorted()).toEqual([
    '.retake',
    'agent.mjs',
    'lib.mjs',
    'package.json',
  ])
})

test('a fork of code that was not kept is refused, and names what is missing', async () => {
  const { folder, fork } = await recorded()
  rmSync(join(folder, '.retake', 'sources'), { recursive: true })
  const refused = await fork('--code', 'recorded')
  expect(refused.stderr).toContain('CODE_NOT_STORED')
  expect(refused.stderr).toContain('the list of its 3 source files')
  expect(refused.code).toBe(1)
})
