import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { TapeError } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { crashEvent } from './crash-events.mjs'
import { isSoak } from '../support/soak.js'

/**
 * A child appends events and promises them; the parent kills it at a random
 * moment and looks at what is left. SIGKILL does not prove that a tape
 * survives a power cut: that part rests on fdatasync.
 */
const child = fileURLToPath(new URL('writer-child.mjs', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'retake-crash-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Starting 400 processes takes half a minute on two idle cores, and much longer on busy ones. */
const timeoutMs = 400_000

/** Before a merge, few: the simulation crashes between any two system calls of the writer. */
const killCount = (soak: number): number => (isSoak ? soak : Math.ceil(soak / 20))

type Mode = 'append' | 'barrier' | 'process' | 'reopen' | 'unsafe'

/**
 * Runs a child until it is killed, which is at a random moment after it has promised `least`
 * events; answers with the last event it promised.
 */
function runAndKill(mode: Mode, path: string, seed: string, least = 1): Promise<number> {
  return new Promise((resolve, reject) => {
    const running = spawn(process.execPath, [child, mode, path, seed], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let output = ''
    let isDoomed = false
    running.stdout.on('data', (data: Buffer) => {
      output += data.toString()
      if (isDoomed || output.split('\n').length <= least) return
      isDoomed = true
      setTimeout(() => running.kill('SIGKILL'), Math.random() * 40)
    })
    running.on('error', reject)
    running.on('close', (code, signal) => {
      if (signal !== 'SIGKILL') return reject(new Error(`the child ended by itself: ${code}`))
      const promised = output
        .slice(0, output.lastIndexOf('\n') + 1)
        .trimEnd()
        .split('\n')
      resolve(output === '' ? -1 : Number(promised.at(-1)))
    })
  })
}

/** What a kill did to a tape. */
interface Damage {
  events: number
  torn: number
  lost: number
  wrong: number
  corrupt: number
}

function inspect(path: string, seed: string, promised: number, damage: Damage): void {
  try {
    const tape = openTape(path)
    damage.events += tape.count
    if (tape.tornBytes > 0) damage.torn++
    if (promised >= tape.count) damage.lost++
    if (!tape.verify().ok) damage.corrupt++
    for (let seq = 1; seq < tape.count; seq++) {
      const { event, body } = crashEvent(seed, seq)
      const { seq: number, at: _, ...found } = tape.event(seq)
      const same = JSON.stringify(found) === JSON.stringify(event) && number === seq
      if (!same || !Buffer.from(body ?? []).equals(tape.body(seq))) damage.wrong++
    }
  } catch (error) {
    if (!(error instanceof TapeError)) throw error
    if (error.code === 'TAPE_CORRUPT') damage.corrupt++
    if (promised > 0) damage.lost++
  }
}

async function killMany(mode: Mode, kills: number): Promise<Damage> {
  const damage: Damage = { events: 0, torn: 0, lost: 0, wrong: 0, corrupt: 0 }
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < kills) {
      const seed = `${mode} ${next++}`
      const path = join(folder, `${seed}.tape`)
      const promised = await runAndKill(mode, path, seed)
      inspect(path, seed, promised, damage)
      rmSync(path, { force: true })
    }
  }
  await Promise.all([lane(), lane(), lane()])
  return damage
}

describe('kills at random moments', () => {
  test.each([
    ['append', killCount(200)],
    ['barrier', killCount(100)],
    ['process', killCount(50)],
  ] as const)(
    'lose nothing that %s promised (%i of them)',
    async (mode, times) => {
      const { events, ...damage } = await killMany(mode, times)
      expect(damage).toMatchObject({ lost: 0, wrong: 0, corrupt: 0 })
      expect(events).toBeGreaterThan(times * 2)
    },
    timeoutMs,
  )

  test(
    'lose events of a writer that acknowledges too early, so the test can detect it',
    async () => {
      const { lost } = await killMany('unsafe', 10)
      expect(lost).toBeGreaterThan(3)
    },
    timeoutMs,
  )
})

test(
  `${killCount(50)} kills on one tape, each followed by recovery, leave one complete run`,
  async () => {
    const path = join(folder, 'reopened.tape')
    let promised = 0
    for (let kill = 0; kill < killCount(50); kill++) {
      promised = Math.max(promised, await runAndKill('reopen', path, 'again', 2))
    }
    const damage: Damage = { events: 0, torn: 0, lost: 0, wrong: 0, corrupt: 0 }
    inspect(path, 'again', promised, damage)
    expect(damage).toMatchObject({ lost: 0, wrong: 0, corrupt: 0 })
    expect(damage.events).toBeGreaterThan(2 * killCount(50))
  },
  timeoutMs,
)
