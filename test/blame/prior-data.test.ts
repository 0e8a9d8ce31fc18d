import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { compareLabels } from '../../bench/blame-data/second-labels.mjs'
import { scoreRankings } from '../../bench/blame-data/step-score.mjs'
import { readSecondLabels, readWhoAndWhen } from '../../bench/blame-data/who-and-when.mjs'

/** Logs in the shape of Who&When, made up here: the real ones are not ours to hand on. */
const generated = {
  question_ID: 'bread',
  mistake_step: '1',
  mistake_agent: 'Baker',
  history: [
    { role: 'assistant', name: 'Baker', content: 'You are given a task: count the loaves.' },
    { role: 'user', name: 'Baker', content: 'Assume there are 40.' },
    { role: 'user', name: 'Computer_terminal', content: 'exitcode: 1 (execution failed)' },
  ],
}
const crafted = {
  question_ID: 'mill',
  mistake_step: '3',
  mistake_agent: 'Miller',
  history: [
    { role: 'human', content: 'How much flour is left?' },
    { role: 'Orchestrator (thought)', content: 'Ask the miller.' },
    { role: 'Orchestrator (-> Miller)', content: 'Please weigh it.' },
    { role: 'Miller', content: 'About 12 sacks.' },
    { role: 'ComputerTerminal', content: 'done' },
  ],
}
const secondLabel = {
  trajectory_id: 'mill',
  failures: [
    { failure_id: 1, step_number: 2 },
    { failure_id: 2, step_number: 4 },
  ],
  root_cause: { failure_id: '2' },
}

describe('labelled runs from a folder', () => {
  let folder: string

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'retake-labelled-'))
    const put = (path: string, value: unknown) => {
      mkdirSync(join(folder, path, '..'), { recursive: true })
      writeFileSync(join(folder, path), JSON.stringify(value))
    }
    put('whowhen/Algorithm-Generated/1.json', generated)
    put('whowhen/Hand-Crafted/1.json', crafted)
    put('agentrx/magentic_one_ground_truth.json', [secondLabel])
  })

  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test('speakers, roles and labels are read as each half writes them', () => {
    const [bread, mill] = readWhoAndWhen(folder) ?? []
    expect(bread).toMatchObject({ half: 'AG', id: 'bread', label: 1, agent: 'Baker' })
    expect(bread?.steps.map(({ role }) => role)).toEqual(['task', 'agent', 'environment'])
    expect(mill).toMatchObject({ half: 'HC', id: 'mill', label: 3, agent: 'Miller' })
    expect(mill?.steps.map(({ role, speaker }) => `${speaker} ${role}`)).toEqual([
      'human task',
      'Orchestrator plan',
      'Orchestrator instruction',
      'Miller agent',
      'ComputerTerminal environment',
    ])
  })

  test('second labels count from 1 and may name their root in either type', () => {
    const runs = readWhoAndWhen(folder) ?? []
    const second = readSecondLabels(folder)
    expect(second?.get('mill')).toBe(3)
    expect(compareLabels(runs, second!)).toMatchObject({ runs: 1, same: 1, within3: 1 })
  })

  test('a ranking is scored by its first step, that agent, the first three, and how sure it was', () => {
    const runs = readWhoAndWhen(folder) ?? []
    const score = scoreRankings('guess', runs, [
      [
        [0.25, 0.5, 0.25],
        [0.4, 0.3, 0.2, 0.05, 0.05],
      ],
    ])
    expect(score).toMatchObject({ runs: 2, step: 0.5, agent: 0.5, top3: 0.5 })
    expect(score.questions).toBeCloseTo((1 + Math.log2(20)) / 2, 9)
  })

  test('without labelled runs, the bench says so and exits with 2', () => {
    const bench = fileURLToPath(new URL('../../bench/blame-data.mjs', import.meta.url))
    const missing = join(folder, 'nowhere')
    const { status, stdout, stderr } = spawnSync(process.execPath, [bench, '--data', missing], {
      encoding: 'utf8',
    })
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect(stderr.trim()).toBe(
      `No whowhen/ in ${missing}: say with --data where the labelled runs are; they are not part of this repository.`,
    )
  })
})
