import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openTape } from '@retake/tape/node'
import { withTemporaryFolder } from './measure/temporary-folder.mjs'

const writer = fileURLToPath(new URL('../test/crash/writer-child.mjs', import.meta.url))

/**
 * A short version of test/crash: a writer is killed at a random moment, and
 * every event it was promised must be on tape. A writer with a known bug goes
 * through the same and must lose, or the test proves nothing.
 *
 * @param {{ quick: boolean }} options
 * @returns {Promise<import('./measure/row.mjs').Row[]>}
 */
export function measure({ quick }) {
  const kills = quick ? 4 : 40
  return withTemporaryFolder(async (folder) => {
    const safe = await killMany(folder, 'append', kills)
    const unsafe = await killMany(folder, 'unsafe', kills)
    return [
      {
        name: `acknowledged events lost in ${kills} SIGKILLs`,
        ratio: safe.lost,
        gate: { max: 0 },
        method: `${safe.promised} events acknowledged when append() returned, killed up to 60 ms after the first`,
      },
      {
        name: 'kills in which a deliberately unsafe writer loses',
        ratio: unsafe.kills,
        gate: { min: 1 },
        method: `the same ${kills} kills; it acknowledges what is only on its way to the file: ${unsafe.lost} of ${unsafe.promised} events lost`,
      },
    ]
  })
}

async function killMany(folder, mode, kills) {
  const total = { promised: 0, lost: 0, kills: 0 }
  for (let kill = 0; kill < kills; kill++) {
    const path = join(folder, `${mode}-${kill}.tape`)
    const promised = await killOnce(path, mode, String(kill))
    const lost = promised.filter((seq) => seq >= eventsOn(path)).length
    total.promised += promised.length
    total.lost += lost
    if (lost > 0) total.kills += 1
    rmSync(path, { force: true })
  }
  return total
}

/** @returns {Promise<number[]>} The numbers of the events the writer was promised to keep. */
async function killOnce(path, mode, seed) {
  const child = spawn(process.execPath, [writer, mode, path, seed], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  child.stdout.once('data', () => setTimeout(() => child.kill('SIGKILL'), Math.random() * 60))
  child.stdout.on('data', (chunk) => (text += chunk))
  await once(child, 'close')
  const whole = text.slice(0, text.lastIndexOf('\n') + 1)
  return whole.split('\n').slice(0, -1).map(Number)
}

function eventsOn(path) {
  try {
    return openTape(path).count
  } catch {
    return 0
  }
}
