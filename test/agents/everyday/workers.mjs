import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { ask } from './model.mjs'

if (isMainThread) {
  const answers = await Promise.all(
    [1, 2, 3].map(
      (number) =>
        new Promise((resolve, reject) => {
          const worker = new Worker(new URL(import.meta.url), { workerData: number })
          worker.on('message', resolve)
          worker.on('error', reject)
        }),
    ),
  )
  console.log(answers)
} else {
  console.log('thread', workerData, Math.random())
  parentPort.postMessage(`${workerData} ${await ask('from a worker')} ${Math.random()}`)
}
