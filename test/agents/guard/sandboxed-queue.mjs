/** A tool with a queue that is busy when it is called, for `test/guard/shared-queues.test.ts`. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const { default: PQueue } = createRequire(import.meta.url)('p-queue')
const queue = new PQueue({ concurrency: 1 })

export default function read({ path }) {
  void queue.add(() => new Promise((resolve) => setTimeout(resolve, 50)))
  return queue.add(() => readFileSync(path, 'utf8'))
}
