import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readRun } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { describe, expect, test } from 'vitest'
import type { FixOutcome } from '../../packages/lab/dist/fix/fix-run.js'
import { hasSandbox } from '../support/has-sandbox.js'
import { soakOnly } from '../support/soak.js'
import { tapesOldestFirst } from '../support/tapes-oldest-first.js'
import { commandsIn, inShell } from './shown-commands.js'
import { folderWith } from './workspace.js'

const shipped = readFileSync(new URL('../../packages/cli/demo/agent.ts', import.meta.url), 'utf8')

describe('every sentence of fix --demo is true', () => {
  for (const isOff of [false, true])
    test(`with${isOff ? 'out' : ''} bubblewrap`, async ({ skip }) => {
      soakOnly()
      skip(!isOff && !hasSandbox, 'there is no bubblewrap')
      const { folder } = await folderWith({})
      const demo = join(folder, '.retake/demo')
      const agent = (): string => readFileSync(join(demo, 'agent.ts'), 'utf8')
      const fixed = inShell(folder, 'retake fix --demo', isOff ? { RETAKE_SANDBOX: 'off' } : {})
      expect(fixed, fixed.stdout + fixed.stderr).toMatchObject({ code: 0 })
      const { stdout, stderr } = fixed
      expect(stderr).toContain(`$ cd ${demo}\n$ retake record agent.ts\n`)
      expect(stderr).toContain(
        'The scripted model is free; the costs shown are those of gpt-5-mini.',
      )
      expect(stderr.includes('--force --no-sandbox\n')).toBe(isOff)
      expect(stderr.includes('run without a sandbox, as --no-sandbox allows')).toBe(isOff)
      expect(stdout).not.toMatch(/cost unknown|still fails/)

      // "some trials send requests to the model: about $0.00015 and 237 tokens each"
      const [tape = ''] = tapesOldestFirst(join(demo, '.retake/runs'))
      const { usage, costUsd = 0 } = readRun(openTape(tape)).totals
      expect(stderr).toContain(
        `about $${costUsd.toFixed(5)} and ${usage.input + usage.output} tokens each`,
      )

      // The numbers are those that were measured.
      const [, run = ''] = /runs\/(.*)\.tape$/.exec(tape) ?? []
      const { result } = JSON.parse(
        readFileSync(join(demo, `.retake/fix/results/${run}.json`), 'utf8'),
      ) as FixOutcome
      const [best] = result.fixes
      const { control, fixed: withIt } = best?.evidence ?? {}
      expect(result).toMatchObject({ status: 'repaired', claim: 'this-run' })
      expect(stdout).toMatch(/^repairs this run · /)
      expect(control?.passed).toBe(0)
      expect(withIt?.passed).toBe(withIt?.trials)
      expect(stdout).toContain(`fails    ${control?.trials} of ${control?.trials} trials without`)
      expect(stdout).toContain(`passes   ${withIt?.passed} of ${withIt?.trials} trials with it`)
      expect(stdout).toContain(`spent    ${result.forks} trials · $`)

      // The diff is what was applied, at the line that the title names.
      const [, line = ''] = /in agent\.ts:(\d+)\n/.exec(stdout) ?? []
      const [before, after] = [shipped, agent()].map((text) => text.split('\n'))
      expect(after?.filter((each) => !before?.includes(each))).toEqual([after?.[Number(line) - 1]])
      expect(stdout).toContain(
        `  -${before?.[Number(line) - 1]}\n  +${after?.[Number(line) - 1]}\n`,
      )

      // What it names works there: the test passes, the undo restores the file, the test fails.
      const [, command = ''] = /test +\S+ \((.*)\)\n/.exec(stdout) ?? []
      expect(inShell(demo, command)).toMatchObject({ code: 0 })
      expect(commandsIn(stdout)).toContain('retake fix --undo')
      expect(inShell(demo, 'retake fix --undo')).toMatchObject({ code: 0 })
      expect(agent()).toBe(shipped)
      expect(inShell(demo, command)).toMatchObject({ code: 1 })
    }, 600_000)
})
