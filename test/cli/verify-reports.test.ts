import { cp, mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startModelServer } from '@retake/engine/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readXml } from '../support/read-xml.js'
import type { XmlElement } from '../support/read-xml.js'
import { linkModules, runLibrary } from '../support/run-library.mjs'
import { makeWorkspace, run, type Workspace } from '../support/run-retake.mjs'
import { cli, folderWith, smallAgent } from './workspace.js'
import { soakOnly } from '../support/soak.js'

/** Prints what XML and terminals do not like. */
const oddAgent = `
const odd = '<b>&"' + String.fromCharCode(27) + '[31m' + String.fromCharCode(0) + ']]> | 100% \`x\`'
console.log('before', odd)
`

const askingAgent = `
const response = await fetch(process.env.OPENAI_BASE_URL + '/chat/completions', {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'order 1182' }] }),
})
console.log((await response.json()).choices[0].message.content)
`

/** A folder of tapes with everything that can come of one: fine, diverged twice, damaged, foreign, unreadable. */
async function tapesOfAllKinds(workspace: Workspace) {
  const files = {
    'good.mjs': smallAgent,
    'odd.mjs': oddAgent,
    'asks.mjs': askingAgent,
    'command.mjs': askingAgent,
    'gone.mjs': smallAgent,
    'spoiled.mjs': `console.log('original')`,
    'function.mjs': `import { record } from 'retake'
await record({ name: 'function', dir: '.retake/runs' }, () => Date.now())
console.log(1)`,
  }
  const { retake, folder } = workspace
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  await linkModules(folder)
  const server = await startModelServer({ answer: () => ({ text: 'hello' }) })
  for (const name of ['good', 'odd', 'asks', 'gone', 'spoiled'])
    await retake(['record', `${name}.mjs`], { env: server.env })
  await retake(['record', '--', process.execPath, 'command.mjs'], { env: server.env })
  await runLibrary(join(folder, 'function.mjs'), null, { cwd: folder })
  await server.stop()
  await writeFile(join(folder, 'odd.mjs'), oddAgent.replace('before', 'after'))
  await writeFile(join(folder, 'asks.mjs'), askingAgent.replace('1182', '1183'))
  await rename(join(folder, 'gone.mjs'), join(folder, 'moved-away.mjs'))
  const runs = join(folder, '.retake/runs')
  for (const file of await readdir(runs)) {
    const bytes = await readFile(join(runs, file))
    const at = bytes.indexOf('original\n')
    if (at > 0) await writeFile(join(runs, file), bytes.fill('X', at, at + 3))
  }
  await cp(new URL('../golden/from-the-future.tape', import.meta.url), join(runs, 'future.tape'))
}

let workspace: Workspace
beforeAll(async () => {
  workspace = await makeWorkspace()
  await tapesOfAllKinds(workspace)
})
afterAll(() => workspace.remove())

const child = (element: XmlElement | undefined, name: string): XmlElement | undefined =>
  element?.children.find((each) => each.name === name)

test('--junit writes a test case for each tape, which CI systems can read', async () => {
  const { retake, folder } = workspace
  const verified = await retake(['verify', '.retake/runs', '--junit', 'reports/retake.xml'])
  expect(verified.code).toBe(3)
  expect(verified.stdout).not.toContain('::error')
  const text = await readFile(join(folder, 'reports/retake.xml'), 'utf8')
  const document = readXml(text)
  expect(document).toMatchObject({
    name: 'testsuites',
    attributes: { tests: '8', failures: '3', errors: '2', skipped: '1' },
  })
  const [suite] = document.children
  expect(document.children).toHaveLength(1)
  expect(suite).toMatchObject({
    name: 'testsuite',
    attributes: { name: '.retake/runs', tests: '8', failures: '3', errors: '2', skipped: '1' },
  })
  expect(suite?.attributes['timestamp']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/)
  const cases = new Map(
    suite?.children.map((each) => [each.attributes['name']?.replace(/ \(.*/, ''), each]),
  )
  const outcome = (name: string) =>
    ['failure', 'error', 'skipped']
      .map((kind) => child(cases.get(name), kind))
      .find((each) => each !== undefined)
  const names = ['asks', 'command', 'function', 'future.tape', 'gone', 'good', 'odd', 'spoiled']
  expect(new Set(cases.keys())).toEqual(new Set(names))
  for (const each of cases.values()) {
    expect(each).toMatchObject({ name: 'testcase', attributes: { classname: '.retake/runs' } })
    expect(each.attributes['time']).toMatch(/^\d+\.\d{3}$/)
    expect(each.children[0]?.name).toBe('properties')
    for (const property of each.children[0]?.children ?? [])
      expect(Object.keys(property.attributes)).toEqual(['name', 'value'])
  }
  expect(outcome('good')).toBeUndefined()
  expect(outcome('command')).toBeUndefined()
  expect(outcome('function')).toMatchObject({ name: 'skipped' })
  expect(outcome('future.tape')).toMatchObject({
    name: 'error',
    attributes: { type: 'TAPE_FROM_FUTURE' },
  })
  expect(outcome('gone')).toMatchObject({
    name: 'error',
    attributes: { type: 'RECORDED_AGENT_MISSING' },
  })
  expect(outcome('spoiled')).toMatchObject({ name: 'failure', attributes: { type: 'damaged' } })
  expect(outcome('asks')).toMatchObject({ name: 'failure', attributes: { type: 'diverged' } })
  expect(outcome('asks')?.text).toMatch(
    /- "order 1182"\n +\+ "order 1183"\n[^]*at {3}asks\.mjs:2:24/,
  )
  expect(outcome('odd')?.text).toContain('<b>&"')
  expect(outcome('odd')?.text).toContain('after')
})

test('in a GitHub workflow, findings are marked at their lines, and the summary has a table', async () => {
  soakOnly()
  const { retake, folder } = workspace
  const summary = join(folder, 'summary.md')
  await writeFile(summary, 'before\n')
  const env = {
    GITHUB_ACTIONS: 'true',
    GITHUB_STEP_SUMMARY: summary,
    GITHUB_WORKSPACE: folder,
  }
  const { stdout, code } = await retake(['verify', '.retake/runs'], { env })
  expect(code).toBe(3)
  const marks = stdout.split('\n').filter((line) => line.startsWith('::'))
  expect(marks).toHaveLength(5)
  const asks = marks.find((line) => line.includes('asks'))
  expect(asks).toMatch(
    /^::error file=asks\.mjs,line=2,col=24,title=Does not replay%3A asks::diverged at /,
  )
  expect(asks).toContain('%0A')
  expect(asks).toContain('- "order 1182"')
  const odd = marks.find((line) => line.includes(': odd') || line.includes('%3A odd'))
  expect(odd).toContain('100%25')
  const future = marks.find((line) => line.includes('future'))
  expect(future).toMatch(/^::error file=\.retake\/runs\/future\.tape,title=Cannot be checked%3A /)

  const text = await readFile(summary, 'utf8')
  expect(text).toMatch(/^before\n### Retake: 6 intact, 1 damaged, 1 unreadable, .*\n\n\| run \|/)
  const rows = text.split('\n').filter((line) => /^\| (✅|❌|⚠️|➖)/u.test(line))
  expect(rows).toHaveLength(8)
  for (const row of rows) expect(row.replaceAll(/\\./g, '').split('|')).toHaveLength(8)

  const json = await retake(['verify', '.retake/runs', '--json'], { env })
  for (const line of json.stdout.trimEnd().split('\n')) expect(() => JSON.parse(line)).not.toThrow()
  const elsewhere = await retake(['verify', '.retake/runs'], { env: { GITHUB_ACTIONS: '' } })
  expect(elsewhere.stdout).not.toContain('::error')
})

test('a report that cannot be written is an error before any program runs', async () => {
  soakOnly()
  const { retake, folder } = await folderWith({ 'agent.mjs': smallAgent })
  await retake(['record', 'agent.mjs'])
  await mkdir(join(folder, 'report'))
  const { code, stderr } = await retake(['verify', 'last', '--junit', 'report'])
  expect(code).toBe(1)
  expect(stderr).toContain('REPORT_NOT_WRITABLE')
})

test('tapes of a deleted folder are verified with the program in the working directory', async () => {
  soakOnly()
  const { folder } = await folderWith({})
  const [there, here] = [join(folder, 'there'), join(folder, 'here-in-ci')]
  const agent = `import { readFileSync } from 'node:fs'
console.log(readFileSync(new URL('./policy.txt', import.meta.url), 'utf8'))`
  await mkdir(there)
  await writeFile(join(there, 'agent.mjs'), agent)
  await writeFile(join(there, 'policy.txt'), '30 days')
  const inFolder = (args: readonly string[], cwd: string, env = {}) =>
    run(process.execPath, [cli, ...args], cwd, { env })
  await inFolder(['record', '--dir', 'tapes', 'agent.mjs'], there)
  await rename(there, here)
  expect((await inFolder(['verify', 'tapes'], here)).code).toBe(0)
  await writeFile(join(here, 'agent.mjs'), `// A line more.\n${agent.replace('policy.', 'other.')}`)
  const { code, stdout } = await inFolder(['verify', 'tapes'], here, {
    GITHUB_ACTIONS: 'true',
    GITHUB_WORKSPACE: here,
  })
  expect(code).toBe(3)
  expect(stdout).toContain('::error file=agent.mjs,line=3,')
})
