import type { RunnableConfig } from '@langchain/core/runnables'
import {
  type BaseCheckpointSaver,
  type CheckpointMetadata,
  emptyCheckpoint,
  MemorySaver,
  uuid6,
} from '@langchain/langgraph-checkpoint'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { TapeSaver } from './langgraph.js'

const metadata = (step: number, source: 'input' | 'loop'): CheckpointMetadata => ({
  source,
  step,
  parents: {},
})

const at = (thread: string, namespace: string, id?: string): RunnableConfig => ({
  configurable: {
    thread_id: thread,
    checkpoint_ns: namespace,
    ...(id !== undefined && { checkpoint_id: id }),
  },
})

const ids = Array.from({ length: 6 }, (_, index) => uuid6(index))
const thread = fc.constantFrom('a', 'b')
const namespace = fc.constantFrom('', 'inner:1')
const id = fc.constantFrom(...ids)
const channel = fc.constantFrom('messages', '__error__', '__interrupt__', 'total')

type Act = (saver: BaseCheckpointSaver) => Promise<unknown>

const put = fc.record({ thread, namespace, id, parent: fc.option(id), step: fc.nat(3) }).map(
  ({ parent, step, ...where }): Act =>
    (saver) =>
      saver.put(
        at(where.thread, where.namespace, parent ?? undefined),
        {
          ...emptyCheckpoint(),
          ts: 'then',
          id: where.id,
          channel_values: { step, at: new Set([1]) },
        },
        metadata(step, step === 0 ? 'input' : 'loop'),
        {},
      ),
)
const putWrites = fc
  .record({ thread, namespace, id, task: fc.constantFrom('t1', 't2'), channel, value: fc.nat(9) })
  .map(
    (one): Act =>
      (saver) =>
        saver.putWrites(
          at(one.thread, one.namespace, one.id),
          [[one.channel, one.value] as never, ['total', new Map([[1, one.value]])] as never],
          one.task,
        ),
  )
const deleteThread = thread.map(
  (name): Act =>
    (saver) =>
      saver.deleteThread(name),
)

async function all(saver: BaseCheckpointSaver, ...args: Parameters<BaseCheckpointSaver['list']>) {
  const found = []
  for await (const tuple of saver.list(...args)) found.push(tuple)
  return found
}

/** Everything a graph could ask. */
async function answers(saver: BaseCheckpointSaver) {
  const found: unknown[] = []
  for (const name of ['a', 'b', 'unknown']) {
    for (const inner of ['', 'inner:1']) {
      found.push(await saver.getTuple(at(name, inner)))
      found.push(await saver.getTuple(at(name, inner, ids[2])))
      found.push(await all(saver, at(name, inner)))
      found.push(await all(saver, at(name, inner), { limit: 2, filter: { source: 'loop' } }))
      found.push(await all(saver, at(name, inner), { before: at(name, inner, ids[3]) }))
    }
    found.push((await all(saver, { configurable: { thread_id: name } })).length)
  }
  return found
}

test("outside of runs it does what LangGraph's own MemorySaver does", async () => {
  const acts = fc.array(fc.oneof({ weight: 6, arbitrary: put }, putWrites, deleteThread), {
    maxLength: 20,
  })
  await fc.assert(
    fc.asyncProperty(acts, async (all) => {
      const [ours, theirs] = [new TapeSaver(), new MemorySaver()]
      for (const act of all) expect(await act(ours)).toEqual(await act(theirs))
      expect(await answers(ours)).toEqual(await answers(theirs))
    }),
    { numRuns: 100 },
  )
})

test('bytes come back as bytes', async () => {
  const saver = new TapeSaver()
  const [first = ''] = ids
  await saver.put(at('a', ''), { ...emptyCheckpoint(), id: first }, metadata(0, 'input'))
  await saver.putWrites(at('a', '', first), [['image', new Uint8Array([0, 255, 128])]], 't1')
  const [write] = (await saver.getTuple(at('a', '')))?.pendingWrites ?? []
  expect(write).toEqual(['t1', 'image', new Uint8Array([0, 255, 128])])
})

test('a call without a thread is refused by name', async () => {
  const call = new TapeSaver().put({}, emptyCheckpoint(), metadata(0, 'input'))
  await expect(call).rejects.toMatchObject({ code: 'CHECKPOINT_NEEDS_THREAD' })
})
