/**
 * `npm run soak`: the system tests with the counts of a long run (see
 * `RETAKE_SOAK` in the tests). Minutes to hours; not part of `npm test`.
 */
import { runVitest } from './run-vitest.mjs'

const { passed, failed } = await runVitest({
  args: ['--project=system', ...process.argv.slice(2)],
  env: { RETAKE_SOAK: '1' },
})
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1
