import type { Denial } from '../../packages/guard/src/denials/guard-error.js'
import type {
  GuardedTool,
  GuardedToolOptions,
} from '../../packages/guard/src/contract/guarded-tool.js'
import { Limiter } from '../../packages/guard/src/limits/limiter.js'
import type { Limits } from '../../packages/guard/src/limits/limits.js'
import type { Reservation } from '../../packages/guard/src/limits/meter.js'
import { TestClock } from './test-clock.js'

export const tool = (options: GuardedToolOptions<unknown> = {}, name = 'pay'): GuardedTool => ({
  name,
  run: () => undefined,
  options,
})

export const limiterOf = (...limits: Limits[]) => {
  const clock = new TestClock()
  return { limiter: new Limiter(limits, clock), clock }
}

export const admitted = (given: Denial | Reservation): Reservation => {
  if ('code' in given) throw new Error(`refused: ${given.code} ${given.why}`)
  return given
}
export const codeOf = (given: Denial | Reservation | undefined): string | undefined =>
  given !== undefined && 'code' in given ? given.code : undefined
