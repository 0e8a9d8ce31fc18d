import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openTape, TapeWriter } from '@retake/tape/node'
import { afterAll, expect, test } from 'vitest'
import { sharedDescent } from '@retake/runner/terminal'

const folder = mkdtempSync(join(tmpdir(), 'retake-descent-'))
afterAll(() => rmSync(folder, { recursive: true }))

const open = (id: string) => openTape(join(folder, `${id}.tape`))

/** Writes a run, or a branch that shares the first `seq` events of another. */
function write(id: string, from?: { readonly run: string; readonly seq: number }): void {
  const parent = from && { ...from, chain: open(from.run).chainAt(from.seq - 1) }
  const writer = TapeWriter.create(
    join(folder, `${id}.tape`),
    {
      type: 'run',
      id,
      name: id,
      startedAt: 1,
      scope: 'process',
      node: 'v20',
      ...(parent && { parent }),
    },
    {},
  )
  for (const name of ['one', 'two', 'three', 'four']) {
    writer.append({ type: 'note', kind: 'mark', name: `${id} ${name}` })
  }
  writer.seal()
}

write('root')
write('child', { run: 'root', seq: 3 })
write('grandchild', { run: 'child', seq: 5 })
write('cousin', { run: 'root', seq: 2 })
write('stranger')

test('runs share the part of their nearest common ancestor', () => {
  const shared = (a: string, b: string) => sharedDescent(open(a), open(b))
  expect(shared('root', 'child')).toEqual({ run: 'root', events: 3 })
  expect(shared('child', 'root')).toEqual({ run: 'root', events: 3 })
  expect(shared('grandchild', 'child')).toEqual({ run: 'child', events: 5 })
  expect(shared('root', 'grandchild')).toEqual({ run: 'root', events: 3 })
  expect(shared('grandchild', 'cousin')).toEqual({ run: 'root', events: 2 })
  expect(shared('grandchild', 'stranger')).toBeUndefined()
  expect(shared('child', 'child')).toBeUndefined()
})
