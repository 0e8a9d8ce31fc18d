import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openTape } from '@retake/tape/node'
import { expect, onTestFinished, test } from 'vitest'
import type { FindingsFile } from '../../packages/lab/dist/blame/findings.js'
import { ProcessForks, StoredForks } from '../../packages/lab/dist/blame/forks.js'
import { prepareSearch } from '../../packages/lab/dist/blame/read-search.js'
import { makeOracle } from '../../packages/runner/dist/oracle/make-oracle.js'
import { linkModules } from '../support/run-library.mjs'
import { soakOnly } from '../support/soak.js'
import { folderWith, tapesOf } from './workspace.js'

/** Decides by what its tools say. `extra` is what else happens. */
const desk = (extra = '') => `
import { tool } from 'retake'
const say = (name, value) => tool(name, async () => value)()
const { days } = await say('get_days', { days: 40 })
const { limit } = await say('get_rule', { limit: 90 })
const { name } = await say('get_team', { name: 'north' })
${extra}
await say('get_note', { text: name })
console.log(days <= limit ? 'APPROVED' : 'DENIED')
process.exitCode = days <= limit ? 3 : 0
`

async function recordDesk(extra?: string) {
  const workspace = await folderWith({ 'desk.mjs': desk(extra) })
  await linkModules(workspace.folder)
  await workspace.retake(['record', 'desk.mjs'])
  const [file = ''] = await tapesOf(workspace)
  return { workspace, tape: openTape(file) }
}

const free = ['get_rule=set:limit=30']

test.each([
  ['fixed answers', undefined, {}, true],
  ['a clock', 'if (Date.now() === 0) process.exit()', {}, false],
  ['a timer', 'await new Promise((resolve) => setTimeout(resolve, 1))', {}, false],
  ['live tools', undefined, { liveTools: '' }, false],
])(
  'one fork is enough for a comparison only if nothing varies: %s',
  async (_, extra, settings, expected) => {
    const { tape } = await recordDesk(extra)
    const { signal } = new AbortController()
    const oracle = await makeOracle('exit:0')
    const search = await prepareSearch(tape, { oracle, free, ...settings }, signal)
    const stored = new StoredForks(tape.path, tape.run.id, 'fixed')
    const forks = await ProcessForks.open({ ...search, ...search.interventions, stored })
    onTestFinished(() => forks.close())
    expect(forks.isDeterministic).toBe(expected)
  },
)

test('fixed answers take half of the forks', async () => {
  soakOnly()
  const { workspace } = await recordDesk()
  await writeFile(
    join(workspace.folder, 'oracle.mjs'),
    'export default ({ exitCode }) => exitCode === 0',
  )
  const forksWith = async (oracle: string): Promise<number> => {
    const args = ['blame', 'last', '--oracle', oracle, '--free', free.join(), '--json']
    const { stdout } = await workspace.retake(args, { timeoutMs: 500_000 })
    const { findings } = JSON.parse(stdout) as FindingsFile
    expect(findings.causes.map(({ steps }) => steps)).toEqual([['2']])
    return findings.forks.asked
  }
  // A program as oracle might not say the same each time.
  const unknown = await forksWith('oracle.mjs')
  expect(await forksWith('exit:0')).toBeLessThanOrEqual(unknown / 2)
})
