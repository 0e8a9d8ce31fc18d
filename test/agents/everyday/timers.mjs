import { setTimeout as sleep } from 'node:timers/promises'
import { ask } from './model.mjs'

let ticks = 0
const ticking = setInterval(() => ticks++, 5)
const attempt = async (number) => {
  try {
    await fetch(`${process.env.AGENT_BASE_URL}/chunks?count=50&gapMs=50`, {
      signal: AbortSignal.timeout(30),
    }).then((response) => response.text())
  } catch (error) {
    console.log('attempt', number, error.name)
    await sleep(5 * 2 ** number + Math.random() * 5)
  }
}
for (const number of [1, 2, 3]) await attempt(number)
const first = await Promise.race([ask('left'), ask('right'), sleep(1000, 'late')])
clearInterval(ticking)
console.log(first, ticks > 0, performance.now() > 0)
