import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eachWithin, openTape, scopesFrom, readRun, record, replay, tool, within } from 'retake'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'retake-places-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const ask = tool('ask', async (question: string) => {
  await new Promise((done) => setTimeout(done, 2))
  return question.length
})

const places = (path: string): Record<string, string> =>
  Object.fromEntries(
    readRun(openTape(path)).steps.map((step) => [
      String(step.call()?.args),
      step.within.map(({ kind, name }) => `${kind} ${name}`).join(' > '),
    ]),
  )

test('steps carry the scopes they start in, separately for concurrent agents', async () => {
  const { run } = await record({ name: 'places', dir: folder }, () =>
    within({ kind: 'workflow', name: 'refunds' }, async () => {
      await Promise.all(
        ['planner', 'critic'].map((name) =>
          within({ kind: 'agent', name }, async () => {
            await ask(`first of ${name}`)
            await within({ kind: 'node', name: 'tools' }, () => ask(`second of ${name}`))
            await ask(`third of ${name}`)
          }),
        ),
      )
      await ask('after all')
    }),
  )
  const found = places(run.path)
  for (const name of ['planner', 'critic']) {
    expect(found[`first of ${name}`]).toBe(`workflow refunds > agent ${name}`)
    expect(found[`second of ${name}`]).toBe(`workflow refunds > agent ${name} > node tools`)
    expect(found[`third of ${name}`]).toBe(`workflow refunds > agent ${name}`)
  }
  expect(found['after all']).toBe('workflow refunds')
})

test('each chunk of a stream is produced in its scope, the code of the reader is not', async () => {
  async function* pieces() {
    yield await ask('piece one')
    yield await ask('piece two')
  }
  const { run } = await record({ name: 'pieces', dir: folder }, async () => {
    for await (const piece of eachWithin({ kind: 'agent', name: 'writer' }, pieces())) {
      await ask(`read ${piece}`)
      break
    }
    await ask('after')
  })
  expect(places(run.path)).toEqual({
    'piece one': 'agent writer',
    'read 9': '',
    after: '',
  })
})

test('the context of a framework is read outside the run', async () => {
  const undo = scopesFrom(() => [{ kind: 'node', name: `at ${typeof Date.now()}` }])
  const undoBroken = scopesFrom(() => {
    throw new Error('no context here')
  })
  const agent = () => within({ kind: 'agent', name: 'a' }, () => ask('something'))
  const { run } = await record({ name: 'asked', dir: folder }, agent)
  undo()
  undoBroken()
  expect(places(run.path)).toEqual({ something: 'agent a > node at number' })
  // Neither the clock it read nor the places are missed on replay.
  expect(await replay(run.path, () => ask('something'))).toEqual(
    expect.objectContaining({ output: 9, divergences: [] }),
  )
})
