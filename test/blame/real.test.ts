import { beforeAll, describe, expect, test } from 'vitest'
import { agentPath, run } from '../support/run-retake.mjs'

interface Found {
  readonly name: string
  readonly verdict: string
  readonly mode: string
  readonly causes: readonly (readonly number[])[]
  readonly echoes: readonly number[]
  readonly necessary: readonly number[]
  readonly sufficient: readonly number[]
  readonly repair: readonly number[]
  readonly forks: number
}

/** Agents are recorded, and every fork runs their code again, held and free as asked. */
let found: ReadonlyMap<string, Found>

beforeAll(async () => {
  const script = agentPath('blame/planted.mjs')
  const { code, stdout, stderr } = await run(process.execPath, [script], process.cwd())
  if (code !== 0) throw new Error(stderr)
  const lines = stdout.trim().split('\n')
  found = new Map(lines.map((line) => JSON.parse(line) as Found).map((each) => [each.name, each]))
})

describe('real forks of recorded agents name exactly what was planted', () => {
  test('a root and its echo', () => {
    expect(found.get('root and echo')).toMatchObject({
      verdict: 'attributed',
      causes: [[1]],
      echoes: [3],
      repair: [1],
    })
  })

  test('both halves of a pair', () => {
    expect(found.get('both halves of a pair')).toMatchObject({ causes: [[3, 4]], echoes: [] })
  })

  test('a back-up, which must be repaired as well', () => {
    expect(found.get('back-up')).toMatchObject({ causes: [[2], [6]], repair: [2, 6] })
  })

  test('the one of six faults that mattered', () => {
    expect(found.get('decoys that look bad')).toMatchObject({ causes: [[5]], echoes: [] })
  })

  test('a cause that kept another from failing instead, with the rest pinned as recorded', () => {
    expect(found.get('pre-emption')).toMatchObject({ mode: 'frozen', causes: [[1]], repair: [1] })
  })

  test('a pair and all that follows from it', () => {
    expect(found.get('cascade after a pair')).toMatchObject({
      causes: [[1, 3]],
      echoes: [4, 5, 6, 7, 8, 9],
    })
  })

  test('in fewer forks than asking about each step ten times takes', () => {
    const attributed = [...found.values()].filter(({ verdict }) => verdict === 'attributed')
    expect(Math.max(...attributed.map(({ forks }) => forks))).toBeLessThan(60)
  })
})

test('real forks distinguish the nine competing faults', () => {
  const said = (name: string, step: number): [boolean, boolean] => {
    const { necessary = [], sufficient = [] } = found.get(name) ?? {}
    return [necessary.includes(step), sufficient.includes(step)]
  }
  const both = 'root, echo and a pair that comes too late'
  expect({
    root: said('root and echo', 1),
    echo: said('root and echo', 3),
    'decoy beside a root': said('root and echo', 2),
    gate: said('both halves of a pair', 3),
    payload: said('both halves of a pair', 4),
    'decoy beside a gate': said('both halves of a pair', 2),
    'late gate': said(both, 3),
    'late payload': said(both, 4),
    'root under load': said(both, 0),
  }).toEqual({
    root: [true, true],
    echo: [false, true],
    'decoy beside a root': [false, false],
    gate: [true, false],
    payload: [true, false],
    'decoy beside a gate': [false, false],
    'late gate': [false, false],
    'late payload': [false, false],
    'root under load': [true, true],
  })
})

test('without a cause, no step is blamed', () => {
  for (const name of ['control: a coin decides', 'control: fails always']) {
    const { verdict, causes, echoes } = found.get(name) as Found
    expect(['flaky', 'no attributable step', 'inconclusive']).toContain(verdict)
    expect({ causes, echoes }).toEqual({ causes: [], echoes: [] })
  }
})
