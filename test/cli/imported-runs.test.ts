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

  test.concurrent.each(refusing)('is refused by %s', async (verb) => {
    const args = VERB_ARGUMENTS[verb]?.(run) ?? []
    const { code, stdout, stderr } = await workspace.retake([verb, ...args])
    expect({ code, said: stdout + stderr }).toEqual({
      code: 1,
      said: expect.stringMatching(/code +RUN_IMPORTED/) as string,
    })
  })

  /** Exit codes other than 0, where there is nothing to find in it. */
  const FINDS_NOTHING: Readonly<Record<string, readonly unknown[]>> = { files: [1, 'NO_OVERLAY'] }

  const isSample = (verb: string): boolean => ['report', 'diff', 'verify', 'test'].includes(verb)
  const reading = sampled([...READS, 'verify', 'test'], isSample)
  test.concurrent.each(reading)('is read by %s', async (verb) => {
    const args = VERB_ARGUMENTS[verb]?.(run) ?? []
    const { code, stdout, stderr } = await workspace.retake([verb, ...args])
    const said = stdout + stderr
    const errorCode = /^ {2}code (\w+)/m.exec(said)?.[1]
    expect([code, errorCode], said).toEqual(FINDS_NOTHING[verb] ?? [0, undefined])
  })

  test.concurrent('is not trusted, and starts nothing if trusted', async () => {
    expect((await workspace.retake(['trust', run])).stderr).toContain('RUN_IMPORTED')
    expect((await workspace.retake(['replay', run, '--trust'])).stderr).toContain('RUN_IMPORTED')
  })

  test.concurrent('is skipped by commands that start many runs, with the reason', async () => {
    const all = [
      ['ci', '.retake/runs', '--oracle', 'exit:0', '--yes'],
      ['eval', '--all', '--at', 'agent.mjs:1', '1'],
    ]
    for (const args of all)
      expect((await workspace.retake(args)).stdout).toContain('imported: it is not a recording')
    const separated = await workspace.retake(['separate'])
    expect(separated.stderr).toContain('NOTHING_TO_SEPARATE')
  })

  test.concurrent('is called imported wherever runs are listed, and no fix is advised', async () => {
    expect((await workspace.retake(['list'])).stdout).toContain('(imported)')
    expect((await workspace.retake(['branches', run])).stdout).toContain('imported · failed')
    expect((await workspace.retake(['verify', run])).stderr).toContain('not a recording')
    const failures = (await workspace.retake(['failures'])).stdout
    expect(failures).toContain('(imported)')
    expect(failures).not.toContain('retake fix')
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
