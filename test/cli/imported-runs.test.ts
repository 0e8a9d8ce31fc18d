import { answerFrom, fork, replay, rerun, resume } from 'retake'
import { beforeAll, describe, expect, test } from 'vitest'
import { workspaceWithImport } from '../support/imported-run.js'
import type { Workspace } from '../support/run-retake.mjs'
import { sampled } from '../support/soak.js'
import { READS, STARTS, VERB_ARGUMENTS } from './verb-arguments.js'

describe('an imported run', () => {
  let workspace: Workspace
  let [tape, run] = ['', '']
  beforeAll(async () => {
    ;({ workspace, tape, run } = await workspaceWithImport())
    return workspace.remove
  })

  /** `verify` checks its bytes, `test` writes the beginning of a test. */
  const refusing = [...STARTS, 'proxy'].filter((verb) => verb !== 'verify' && verb !== 'test')

  const outcomesOf = async (verbs: readonly string[]) => {
    const commands = verbs.map((verb) => [
      ...verb.split(' '),
      ...(VERB_ARGUMENTS[verb]?.(run) ?? []),
    ])
    const finished = await workspace.retakeEach(commands)
    return finished.map(({ code, stdout, stderr }, index) => {
      const said = stdout + stderr
      return { verb: verbs[index] ?? '', code, error: /^ {2}code +(\w+)/m.exec(said)?.[1], said }
    })
  }

  test(`is refused by ${refusing.join(', ')}`, async () => {
    for (const { verb, code, error, said } of await outcomesOf(refusing))
      expect([verb, code, error], said).toEqual([verb, 1, 'RUN_IMPORTED'])
  })

  /** Exit codes other than 0, where there is nothing to find in it. */
  const FINDS_NOTHING: Readonly<Record<string, readonly unknown[]>> = {
    'branches --files': [1, 'NO_OVERLAY'],
  }

  const isSample = (verb: string): boolean => ['report', 'diff', 'verify', 'test'].includes(verb)
  const reading = sampled([...READS, 'verify', 'test'], isSample)
  test(`is read by ${reading.join(', ')}`, async () => {
    for (const { verb, code, error, said } of await outcomesOf(reading))
      expect([verb, code, error], said).toEqual([verb, ...(FINDS_NOTHING[verb] ?? [0, undefined])])
  })

  test('is not trusted, and starts nothing if trusted', async () => {
    const refused = await workspace.retakeEach([
      ['trust', run],
      ['replay', run, '--trust'],
    ])
    for (const { stderr } of refused) expect(stderr).toContain('RUN_IMPORTED')
  })

  test('is skipped by commands that start many runs, with the reason', async () => {
    const [ci, evaluated, separated] = await workspace.retakeEach([
      ['verify', '--code', 'today', '.retake/runs', '--oracle', 'exit:0', '--yes'],
      ['debug', 'eval', '--all', '--at', 'agent.mjs:1', '1'],
      ['failures', '--variables'],
    ])
    for (const each of [ci, evaluated])
      expect(each?.stdout).toContain('imported: it is not a recording')
    expect(separated?.stderr).toContain('NOTHING_TO_SEPARATE')
  })

  test('is called imported wherever runs are listed, and no fix is advised', async () => {
    const [list, branches, verified, failures] = await workspace.retakeEach([
      ['list'],
      ['branches', run],
      ['verify', run],
      ['failures'],
    ])
    expect(list?.stdout).toContain('(imported)')
    expect(branches?.stdout).toContain('imported · failed')
    expect(verified?.stderr).toContain('not a recording')
    expect(failures?.stdout).toContain('(imported)')
    expect(failures?.stdout).not.toContain('retake fix')
  })

  test('is refused by the library', async () => {
    const refused = { code: 'RUN_IMPORTED' }
    const agent = (): number => 1
    await expect(replay(tape, agent)).rejects.toMatchObject(refused)
    await expect(fork(tape, agent, { at: '1' })).rejects.toMatchObject(refused)
    await expect(rerun(tape, agent)).rejects.toMatchObject(refused)
    await expect(resume(tape, agent)).rejects.toMatchObject(refused)
    await expect(answerFrom(tape, agent)).rejects.toMatchObject(refused)
  })
})
