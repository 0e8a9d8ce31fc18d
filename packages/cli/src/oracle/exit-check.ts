import type { Check, WrongOracle } from './check.js'
import { judged } from './oracle.js'

/** `exit:0`: passes with this exit code. A run that was killed has none. */
export function exitCheck(code: string, wrong: WrongOracle): Check {
  if (!/^\d{1,3}$/.test(code))
    throw wrong(`"exit:${code}" names no exit code.`, 'For example: --oracle exit:0.')
  return {
    judgesBroken: true,
    prepare:
      () =>
      ({ exitCode, signal }) =>
        judged(
          exitCode === Number(code),
          exitCode !== undefined
            ? `exit code ${exitCode}`
            : signal === undefined
              ? 'it did not come to an end'
              : `killed by ${signal}`,
        ),
  }
}
