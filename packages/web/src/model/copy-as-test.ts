import type { RunHead } from './run-source.js'
import type { StepDetail } from './run-source.js'

export interface CopyAsTestOptions {
  /** Path of the tape, relative to the test. */
  readonly tape?: string
}

type Head = Pick<RunHead, 'id' | 'name' | 'status' | 'recorded' | 'command' | 'cwd'>

/**
 * A Vitest test that replays the run and fails at the first difference. It belongs into the
 * folder where the run was started. For a run of `record()` the function must be filled in; a
 * comment says so.
 */
export function copyAsTest(
  head: Head,
  detail: Pick<StepDetail, 'label' | 'title'>,
  { tape = `.retake/runs/${head.id}.tape` }: CopyAsTestOptions = {},
): string {
  const title = quote(oneLine(`step ${detail.label} of ${head.name}: ${detail.title}`))
  const about = [
    `// Replays run ${oneLine(head.id)}: no network, no key. Fails where step ${detail.label}, or one before it, changes.`,
    ...(tape.startsWith('.retake/')
      ? ['// Git ignores .retake: to commit the test, copy the tape beside it and change the path.']
      : []),
  ].join('\n')
  if (head.recorded === 'function') return functionTest({ title, about, tape })
  const [entry = ''] = head.command
  // A killed run has no end to compare; a command is replayed by its command.
  if (head.recorded === 'command' || head.status === 'killed' || head.status === 'recording')
    return commandTest({ title, about, tape })
  return `import { expect, test } from 'retake/vitest'

${about}
test(${title}, { timeout: 60_000 }, async () => {
  await expect(${quote(fromFolder(entry, head.cwd))}).toReplay(${quote(tape)}, { mode: 'offline' })
})
`
}

interface Parts {
  readonly title: string
  readonly about: string
  readonly tape: string
}

const functionTest = ({
  title,
  about,
  tape,
}: Parts): string => `import { expect, test } from 'retake/vitest'
// Fill in the function that was recorded, and how it was called.
import { agent } from './agent.js'

${about}
test(${title}, { timeout: 60_000 }, async () => {
  await expect(() => agent()).toReplay(${quote(tape)}, { mode: 'offline' })
})
`

const commandTest = ({
  title,
  about,
  tape,
}: Parts): string => `import { execFileSync } from 'node:child_process'
import { test } from 'vitest'

${about}
test(${title}, { timeout: 60_000 }, () => {
  execFileSync('npx', ['retake', 'replay', ${quote(tape)}], { cwd: import.meta.dirname })
})
`

function fromFolder(file: string, folder: string | undefined): string {
  const inside = folder !== undefined && file.startsWith(`${folder.replace(/[/\\]$/, '')}/`)
  return inside ? file.slice(folder.replace(/[/\\]$/, '').length + 1) : file
}

const oneLine = (text: string): string => text.replaceAll(/[\s\p{Cc}\u2028\u2029]+/gu, ' ').trim()

const quote = (text: string): string =>
  `'${text
    .replaceAll(/[\\']/g, String.raw`\$&`)
    .replaceAll('\n', String.raw`\n`)
    .replaceAll('\r', String.raw`\r`)
    .replaceAll('\u2028', String.raw`\u2028`)
    .replaceAll('\u2029', String.raw`\u2029`)}'`
