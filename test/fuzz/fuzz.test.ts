import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { expect, test } from 'vitest'

const script = fileURLToPath(new URL('tapes.mjs', import.meta.url))
const isSoak = process.env['RETAKE_SOAK'] === '1'

/** A soak has another seed each day. */
const seed = isSoak ? new Date().toISOString().slice(0, 10) : '1'
const count = isSoak ? 1_000_000 : 2500

test(`${count} changed records are read, or refused with a code, by everything that reads tapes`, async () => {
  const { stderr, stdout } = await execa(
    process.execPath,
    [script, '--seed', seed, '--count', String(count)],
    { reject: false },
  )
  expect(stderr).toBe('')
  expect(stdout).toMatch(/^\d+ changed records on \d+ tapes, .* 0 failures; /)
})
