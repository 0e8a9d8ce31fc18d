import { stripVTControlCharacters } from 'node:util'
import { readRun } from '@retake/tape'
import { openTape } from '@retake/tape/node'
import { PURPOSE_WORDS } from '@retake/tape/present'
import { expect, test } from 'vitest'
import type { FindingsFile } from '../../packages/lab/dist/blame/findings.js'
import { soakOnly } from '../support/soak.js'
import { commandsIn, inShell, onTerminal } from './shown-commands.js'
import { folderWith, tapesOf } from './workspace.js'

test('every sentence of blame --demo is true, its progress included, on 60 columns', async ({
  skip,
}) => {
  soakOnly()
  skip(process.platform !== 'linux', 'script has other options')
  const workspace = await folderWith({})
  const { folder } = workspace
  const terminal = onTerminal(folder, 'retake blame --demo', 60)
  expect(terminal.code).toBe(3)
  const printed = terminal.stdout
    .replaceAll('\r\n', '\n')
    .split('\n')
    .map((line) => stripVTControlCharacters(line.split('\r').at(-1) ?? ''))
  const said = printed.join(' ').replaceAll(/\s+/g, ' ')
  expect(said).toContain('The scripted model is free; the costs shown are those of gpt-5-mini.')
  expect(said).not.toContain('cost unknown')

  // The command that it shows works later, too, and finds the same in the stored forks.
  const commands = commandsIn(printed.join('\n'))
  const shown = commands.find((each) => each.startsWith('retake blame last')) ?? ''
  const again = inShell(folder, `${shown} --json`)
  expect(again.code).toBe(3)
  const { findings, facts } = JSON.parse(again.stdout) as FindingsFile
  expect(facts.newForks).toBe(0)

  // "Step 3 made this run fail; steps 4 and 7 only repeat it": the tool handed out the old policy,
  // and the policy clerk and the manager passed it on.
  const [recorded = ''] = await tapesOf(workspace)
  const run = readRun(openTape(recorded))
  const policy = run.recordedSteps.find((step) => step.call()?.name === 'search_policy')
  const clerk = run.recordedSteps.find(
    ({ kind, title }) => kind === 'model' && title.includes('60 days'),
  )
  const manager = run.recordedSteps.findLast(({ kind }) => kind === 'model')
  expect(said).toContain(
    `Step ${policy?.label} (search_policy with query "refund window") made this run fail; steps ${clerk?.label} and ${manager?.label} only repeat it.`,
  )
  expect(findings.causes.map(({ steps }) => steps)).toEqual([[policy?.label]])

  // "36 to 203 forks · …": the search stayed within its estimate.
  const range = (what: string): number[] => {
    const [, least = '', most = ''] = new RegExp(`([\\d,]+) to ([\\d,]+) ${what}`).exec(said) ?? []
    return [least, most].map((text) => Number(text.replaceAll(',', '')))
  }
  const { asked, liveSteps, tokens = 0, costUsd = 0 } = findings.forks
  for (const [what, count] of [
    ['forks', asked],
    ['live steps', liveSteps],
    ['tokens', tokens],
  ] as const) {
    const [least = 0, most = 0] = range(what)
    expect({ what, count, isWithin: least <= count && count <= most }).toMatchObject({
      isWithin: true,
    })
  }
  expect(said).toContain(`${asked} forks · ${liveSteps} live steps · ${tokens} tokens · $`)
  expect(said).toContain(`$${costUsd.toFixed(5)}`)

  // "Clear, the run passes with them pinned": some fork had them pinned, and passed.
  const [, clear = ''] =
    /steps (\S+(?:, \S+)*): clear, the run passes with them pinned/.exec(said) ?? []
  const passing = findings.evidence
    .filter(({ fails }) => fails === false)
    .map(({ pinned }) => pinned)
  expect(clear).not.toBe('')
  expect(passing).not.toEqual([])

  // "With step 3 answered as --free says, the run passed": with the shown command it does.
  const repair = commands.find((each) => each.startsWith('retake fork ')) ?? ''
  const repaired = inShell(folder, repair, { EDITOR: 'sed -i s/60/30/' })
  expect(repaired).toMatchObject({ code: 0 })
  expect(repaired.stdout).toContain('decision: DENIED')

  // The progress: numbers of forks never go back, and what is being tried is said in words.
  const steps = [...terminal.stdout.matchAll(/(\d+) forks?, about \d+ more · (.*?) \(\d+ s\)/g)]
  const counts = steps.map(([, forks]) => Number(forks))
  expect(counts).toEqual(counts.toSorted((a, b) => a - b))
  expect(counts.at(-1)).toBeLessThanOrEqual(asked)
  // A narrow terminal cuts the line.
  for (const [, , purpose = ''] of steps)
    expect(
      Object.values(PURPOSE_WORDS).some((words) => words.startsWith(purpose.replace(/…$/, ''))),
    ).toBe(true)
}, 600_000)
