import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Located, Occurrence } from '@retake/tape/locate'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startProvider } from '../support/loopback-provider.mjs'
import { makeWorkspace, type Workspace } from '../support/run-retake.mjs'
import { recordPolicy } from './policy-runs.js'
import { folderWith } from './workspace.js'
import { soakOnly } from '../support/soak.js'

type Retake = Workspace['retake']

const locateJson = async (retake: Retake, ...args: readonly string[]): Promise<Located> =>
  JSON.parse((await retake(['locate', ...args, '--json'])).stdout) as Located

/** Occurrences in short, without what they only repeat. */
const flow = ({ occurrences }: Located): string[] =>
  occurrences
    .filter(({ carried }) => carried !== true)
    .map(({ direction, source, path = '' }) => `${direction} ${source} ${path}`.trim())

describe('the demo', () => {
  let workspace: Workspace
  /** The run with the wrong outcome; the demo then forks it. */
  let run: string
  beforeAll(async () => {
    workspace = await makeWorkspace()
    await workspace.retake(['demo'])
    const { stdout } = await workspace.retake(['list', '--json'])
    run = (JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as { id: string }).id
  })
  afterAll(() => workspace.remove())

  test('the outdated policy is traced to the line that read it from a file, and to the tool', async () => {
    const found = await locateJson(workspace.retake, run, '60 days')
    expect(found.occurrences[0]).toMatchObject({
      seq: 2,
      direction: 'in',
      source: 'file',
      name: expect.stringMatching(/shop\.json$/),
      path: 'policies[1].text',
      site: await siteOf(workspace, 'readFile(new URL'),
    })
    expect(found.occurrences[1]).toMatchObject({
      source: 'tool',
      name: 'search_policy',
      path: 'result.text',
    })
    expect(flow(found)).toEqual([
      'in file policies[1].text',
      'in tool result.text',
      'out request messages[3].content » text',
      'in answer choices[0].message.content',
      'out output',
      'out request messages[1].content',
    ])
    expect(found.origins).toBe(2)
  })

  test('the result is text in 80 columns, without colours', async () => {
    const { stdout, stderr, code } = await workspace.retake(['locate', run, '60 days'])
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 })
    expect(stdout).toMatch(
      /Came from\n← read from file \.retake\/demo\/shop\.json\n {4}event 2 · policies\[1\]\.text\n {4}.*60 days of delivery\."\n {4}\.retake\/demo\/agent\.ts:\d+:\d+\n← result of tool search_policy\n/,
    )
    expect(stdout).not.toContain('\u001B')
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([])
  })

  test('numbers, random values and texts of the agent itself have their origins', async () => {
    soakOnly()
    const price = await locateJson(workspace.retake, run, '249')
    expect(price.occurrences[0]).toMatchObject({ source: 'file', path: 'orders[1].price' })
    const { stdout } = await workspace.retake(['export', run, '--jsonl'])
    const uuid = /"kind":"crypto.randomUUID","value":"([^"]+)"/.exec(stdout)?.[1]?.slice(0, 8) ?? ''
    expect(flow(await locateJson(workspace.retake, run, uuid))).toEqual(['in draw', 'out output'])
    const own = await workspace.retake(['locate', run, 'careful manager'])
    expect(own.stdout).toMatch(/it comes from the\s+agent's own\s+code\./)
  })

  test('a value that is not found lists similar ones', async () => {
    const { stdout, stderr, code } = await workspace.retake(['locate', run, '60 DAYS'])
    expect({ stdout, code }).toEqual({ stdout: '', code: 1 })
    expect(stderr).toMatch(/"60 DAYS" does not occur in run .*\n.*\n.*Did you mean "60 days" \(6\)/)
    const json = await workspace.retake(['locate', run, '60 DAYS', '--json'])
    expect(JSON.parse(json.stdout)).toMatchObject({ error: { code: 'TEXT_NOT_FOUND' } })
  })

  test('diff of the run and its fork begins at the step that was edited, and knows they share the rest', async () => {
    const { stdout, code } = await workspace.retake(['diff', run, 'last', '--json'])
    expect(code).toBe(3)
    expect(JSON.parse(stdout)).toMatchObject({
      shared: { run },
      first: { in: 'step', change: 'changed', path: 'result.text' },
    })
  })
})

/** Location of some code in the demo's agent, as far as it is certain. */
async function siteOf({ folder }: Workspace, code: string): Promise<unknown> {
  const agent = await readFile(join(folder, '.retake/demo/agent.ts'), 'utf8')
  const line = agent.split('\n').findIndex((text) => text.includes(code)) + 1
  return expect.stringMatching(new RegExp(`\\.retake/demo/agent\\.ts:${line}:\\d+$`))
}

describe('real clients', () => {
  let workspace: Workspace
  let printed: string
  beforeAll(async () => {
    workspace = await makeWorkspace()
    await recordPolicy(workspace, 'Within "60"\n\tdays, für alle')
    printed = await readFile(join(workspace.folder, 'report.txt'), 'utf8')
  })
  afterAll(() => workspace.remove())

  test('a text with quotes, line breaks and umlauts is followed through every form of escaping', async () => {
    const found = await locateJson(workspace.retake, 'last', '"60"\n\tdays, für')
    expect(found.occurrences[0]).toMatchObject({
      source: 'file',
      name: 'policy.txt',
      offset: 7,
      site: expect.stringMatching(/policy\.mjs:\d+:\d+$/),
    })
    const ways = flow(found)
    expect(ways).toContain('out request messages[3].content » text')
    // axios, over a socket; what /echo sends back is JSON in JSON.
    expect(ways).toContain('out request note')
    expect(ways).toContain('in answer body » note')
    expect(ways).toContain('out file')
    expect(ways.at(-1)).toBe('out output')
  })

  test('words of a streamed answer are found across its chunks', async () => {
    const streamed = printed.split('\n')[0] ?? ''
    expect(streamed).toMatch(/^answer \d+ .* .* done\.$/)
    const found = await locateJson(workspace.retake, 'last', streamed)
    expect(flow(found)).toEqual(['in answer choices[0].delta.content', 'out file', 'out output'])
    const [origin] = found.occurrences as [Occurrence]
    const { stdout } = await workspace.retake(['export', 'last', '--jsonl'])
    const event = JSON.parse(stdout.split('\n')[origin.seq] ?? '') as { type: string; body: string }
    expect(event.type).toBe('deliver')
    expect(event.body).not.toContain(streamed)
  })

  test('a value in a compressed answer is found', async () => {
    soakOnly()
    const { stdout } = await workspace.retake(['replay', 'last'])
    const packed = /packed (0\.\d+)/.exec(stdout)?.[1] ?? ''
    const found = await locateJson(workspace.retake, 'last', packed)
    expect(flow(found)).toEqual(['in answer random', 'out output'])
    expect(found.occurrences[0]?.name).toMatch(/\/gzip$/)
  })

  test('repeated history is left out unless --all is given', async () => {
    soakOnly()
    const text = 'How long can I return it?'
    const { occurrences } = await locateJson(workspace.retake, 'last', text)
    expect(occurrences.filter(({ carried }) => carried).length).toBeGreaterThan(0)
    const short = await workspace.retake(['locate', 'last', text])
    expect(short.stdout).toMatch(/^Sent again as history of the conversation with step 2/m)
    const all = await workspace.retake(['locate', 'last', text, '--all'])
    expect(all.stdout.match(/^→ sent to gpt-example$/gm)).toHaveLength(occurrences.length)
  })

  test('a truncated tape is searched up to its end', async () => {
    soakOnly()
    const { stdout: list } = await workspace.retake(['list', '--json'])
    const bytes = await readFile((JSON.parse(list) as { path: string }).path)
    await writeFile(join(workspace.folder, 'cut.tape'), bytes.subarray(0, bytes.length * 0.6))
    const { stdout, stderr, code } = await workspace.retake(['locate', 'cut.tape', 'für alle'])
    expect(code).toBe(0)
    expect(stdout).toContain('read from file policy.txt')
    expect(stderr).toBe('The recording was cut off; what came after is not on the tape.\n')
  })
})

test('binary bodies are searched, too', async () => {
  soakOnly()
  const provider = await startProvider({ seed: 1, maxLatencyMs: 0 })
  try {
    const { retake } = await folderWith({
      'agent.mjs': `await fetch(process.env.AGENT_BASE_URL + '/upload', {
  method: 'PUT',
  body: Buffer.from([255, 0, ...Buffer.from('für alle'), 254]),
})`,
    })
    await retake(['record', 'agent.mjs'], { env: { AGENT_BASE_URL: provider.url } })
    const found = await locateJson(retake, 'last', 'für alle')
    expect(found.occurrences).toMatchObject([
      { direction: 'out', source: 'request', offset: 2, step: '1', excerpt: { match: 'für alle' } },
    ])
  } finally {
    await provider.close()
  }
})

test('secrets are not on the tape and cannot be located', async () => {
  soakOnly()
  const { retake } = await folderWith({ 'agent.mjs': `console.log(process.env.SHOP_API_KEY)` })
  const env = { SHOP_API_KEY: ['sk', 'very-secret-key', '1234'].join('-') }
  await retake(['record', 'agent.mjs'], { env })
  const { stderr, code } = await retake(['locate', 'last', 'very-secret-key'])
  expect(code).toBe(1)
  expect(stderr).toContain('Secrets cannot be found: the tape only has placeholders for them.')
})

test('bad input is refused with one error', async () => {
  soakOnly()
  const { retake } = await folderWith({ 'agent.mjs': `console.log('--dash\\u001B[2J')` })
  const codeOf = async (...args: readonly string[]): Promise<string> => {
    const { stderr, code } = await retake(['locate', ...args])
    return `${/code ([A-Z_]+)/.exec(stderr)?.[1]}, exit code ${code}`
  }
  expect(await codeOf('last', 'x')).toBe('NO_RUNS, exit code 1')
  await retake(['record', 'agent.mjs'])
  expect(await codeOf('last')).toBe('WRONG_USAGE, exit code 2')
  expect(await codeOf('last', '')).toBe('WRONG_USAGE, exit code 2')
  expect(await codeOf('last', '60', 'days')).toBe('WRONG_USAGE, exit code 2')
  expect(await codeOf('nobody', 'x')).toBe('UNKNOWN_RUN, exit code 1')
  expect(await codeOf('none.tape', 'x')).toBe('TAPE_MISSING, exit code 1')
  const dashed = await retake(['locate', 'last', '--', '--dash'])
  expect(dashed.stdout).toContain('--dash\\x1b[2J')
  expect(dashed.stdout).not.toContain('\u001B')
})
