import { existsSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startProvider } from '../support/loopback-provider.mjs'
import { folderWith, interrupt, tapesOf } from './workspace.js'
import { isSoak, soakOnly } from '../support/soak.js'

async function withProvider(): Promise<Awaited<ReturnType<typeof startProvider>>> {
  const provider = await startProvider()
  onTestFinished(provider.close)
  return provider
}

interface Found {
  readonly run: string
  readonly orders: number
  readonly reordered: number
  readonly changed: readonly {
    readonly seeds: readonly number[]
    readonly smallestSeed: number
    readonly differences: readonly { what: string; recorded: string; now: string }[]
    readonly decides?: { readonly chosen: number; readonly passed: number }
    readonly command: string
    readonly divergence?: { readonly summary: string }
  }[]
  readonly outputOrderChanges: number
}

test('two concurrent tools that write the same state are found, explained and repeated by the printed seed', async () => {
  const provider = await withProvider()
  const { record, retake } = await folderWith({})
  const recorded = await record('chaos/shared-total.mjs', { provider })
  expect(recorded.stdout).toBe('total 12\n')
  const { code, stdout } = await retake(['chaos', 'last', '--seeds', isSoak ? '50' : '12'])
  expect(code).toBe(3)
  const run = /retake chaos (\S+) --seed/.exec(stdout)?.[1] ?? ''
  expect(stdout.replaceAll(run, 'RUN').replaceAll(/\d+ (orders?|of them)/g, 'N $1')).toBe(
    `1 changed outcome · N orders · N of them other than recorded · 0 requests

N orders · smallest seed 1
  stdout:
  - total 12
  + total 30
  when  the answer to step 2 (look_up_price(pears)) came before the answer to
        step 1 (look_up_price(apples))
  again retake chaos RUN --seed 1 --keep
`,
  )
  for (let time = 1; time <= (isSoak ? 5 : 1); time++) {
    const again = await retake(['chaos', run, '--seed', '1', '--json'])
    expect(again.code).toBe(3)
    const found = JSON.parse(again.stdout) as Found
    expect(found.changed[0]?.differences).toEqual([
      { what: 'stdout', recorded: 'total 12', now: 'total 30' },
    ])
  }
})

test('a log written in different chunks is not a race', async () => {
  soakOnly()
  const provider = await withProvider()
  const { record, retake } = await folderWith({})
  await record('chaos/log-stream.mjs', { provider })
  const { code, stdout } = await retake(['chaos', 'last', '--seeds', '12'])
  expect(stdout).toMatch(/^no race found · 12 orders · /)
  expect(code).toBe(0)
})

test('the stored tape of a changed outcome is an ordinary tape', async () => {
  soakOnly()
  const provider = await withProvider()
  const workspace = await folderWith({})
  await workspace.record('chaos/last-writer.mjs', { provider })
  const [parent = ''] = await tapesOf(workspace)
  const { code, stdout } = await workspace.retake(['chaos', parent, '--keep'])
  expect(code).toBe(3)
  const id = /kept {2}(\S+)/.exec(stdout)?.[1] ?? ''
  const replayed = await workspace.replay({ run: id })
  expect(replayed).toMatchObject({ code: 0 })
  expect(stdout).toContain(`+ ${replayed.stdout.trim()}`)
  expect((await workspace.retake(['show', id])).stdout).toContain('last-writer (seed ')
  expect((await workspace.retake(['diff', parent, id])).code).toBe(3)
})

test('responses where the last one wins are found without a request', async () => {
  soakOnly()
  const provider = await withProvider()
  const { record, retake } = await folderWith({})
  await record('chaos/last-writer.mjs', { provider })
  const { requests, socketsOpened } = provider.counts()
  const { code, stdout } = await retake(['chaos', 'last', '--json'])
  expect(code).toBe(3)
  const found = JSON.parse(stdout) as Found
  expect(found.changed.map(({ differences }) => differences[0]?.what)).toEqual(['stdout', 'stdout'])
  expect(found.changed.every(({ decides }) => decides !== undefined)).toBe(true)
  expect(provider.counts()).toMatchObject({ requests, socketsOpened })
})

test('an order in which the agent sends another request is named with the request', async () => {
  soakOnly()
  const provider = await withProvider()
  const { record, retake } = await folderWith({})
  await record('chaos/last-writer.mjs', { provider, args: ['ask'] })
  const { code, stdout } = await retake(['chaos', 'last', '--seeds', '20'])
  expect(code).toBe(3)
  expect(stdout).toMatch(/it sends other requests:\n {4}POST \S+text=summary%20of%20/)
  expect(stdout).toMatch(/at {4}\S*last-writer\.mjs:4:\d+/)
})

test('an agent without a race yields none in 50 orders, and touches nothing', async () => {
  soakOnly()
  const provider = await withProvider()
  const { record, retake, folder } = await folderWith({})
  const recorded = await record('chaos/race-free.mjs', { provider })
  expect(recorded.code).toBe(0)
  await rm(join(folder, 'result.txt'))
  const { requests } = provider.counts()
  const { code, stdout } = await retake(['chaos', 'last', '--seeds', '50'], { timeoutMs: 500_000 })
  expect(stdout).toMatch(/^no race found · 50 orders · 0 requests\n$/)
  expect(code).toBe(0)
  expect(provider.counts().requests).toBe(requests)
  expect(existsSync(join(folder, 'result.txt'))).toBe(false)
})

test('lanes that print in another order are distinguished from a changed outcome', async () => {
  soakOnly()
  const { retake } = await folderWith({
    'agent.mjs': `
import { readFile } from 'node:fs/promises'
await Promise.all(['a', 'b', 'c'].map(async (name) => {
  await readFile(new URL(import.meta.url))
  console.log('lane', name)
}))`,
  })
  await retake(['record', 'agent.mjs'])
  const { code, stdout } = await retake(['chaos', 'last', '--seeds', '12'])
  expect(code).toBe(0)
  expect(stdout).toMatch(/^no race found · 12 orders .*\n\noutput order changes in \d+ orders; /)
})

test('a run without concurrency has one order', async () => {
  const { retake } = await folderWith({ 'agent.mjs': `console.log(Date.now())` })
  await retake(['record', 'agent.mjs'])
  const { code, stdout } = await retake(['chaos', 'last', '--seeds', '2'])
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: `no race found · 2 orders · 0 of them other than recorded · 0 requests

no steps of this run overlap
`,
  })
})

test('an oracle decides what counts', async () => {
  soakOnly()
  const provider = await withProvider()
  const { record, retake } = await folderWith({})
  await record('chaos/shared-total.mjs', { provider })
  const chaos = (oracle: string): ReturnType<typeof retake> =>
    retake(['chaos', 'last', '--seeds', '8', '--oracle', oracle])
  expect((await chaos('exit:0')).code).toBe(0)
  const flipped = await chaos('stdout:/total 12/')
  expect(flipped.code).toBe(3)
  expect(flipped.stdout).toContain('oracle: stdout matches /total 12/ → stdout does not match')
  expect((await chaos('grep -q "total [13]"')).code).toBe(0)
})

test('wrong numbers, changed code and a run that was killed are refused', async () => {
  soakOnly()
  const { retake, folder } = await folderWith({
    'agent.mjs': `console.log('a'); await new Promise((resolve) => setTimeout(resolve, 5))`,
    'slow.mjs': `console.log('x'); await new Promise((resolve) => setTimeout(resolve, 60_000))`,
  })
  await retake(['record', 'agent.mjs'])
  for (const args of [
    ['--seeds', '0'],
    ['--seed', 'x'],
    ['--jobs', '-1'],
    ['--seed=1', '--seeds=2'],
  ])
    expect((await retake(['chaos', 'last', ...args])).code).toBe(2)
  expect((await retake(['chaos', 'last', '--oracle', 'exit:no'])).code).toBe(2)
  const misspelt = await retake(['chaos', 'last', '--seeds', '1', '--oracle', 'no-such-check'])
  expect(misspelt.code).toBe(2)
  expect(misspelt.stderr).toContain('The oracle "no-such-check" cannot be run.')
  await writeFile(join(folder, 'agent.mjs'), `console.log('b')`)
  const changed = await retake(['chaos', 'last'])
  expect(changed.code).toBe(1)
  expect(changed.stderr).toContain('RECORDED_ORDER_DIFFERS')
  await interrupt(folder, ['record', 'slow.mjs'], (pid) => process.kill(-pid, 'SIGKILL'))
  const killed = await retake(['chaos', 'last'])
  expect(killed.code).toBe(1)
  expect(killed.stderr).toContain('RUN_HAS_NO_END')
})
