import { decodeBody, type ErrorClasses } from '@retake/tape/format'
import { errors } from '../../errors.js'
import type { Session } from '../../kernel/session.js'
import {
  answer,
  performShared,
  restoreErrors,
  type SharedMethod,
  titleOf,
} from './shared-clients.js'

/** Commands of shared Redis clients, whichever library makes them. */

export type Argument = string | Buffer

export const SUBSCRIPTIONS = 'subscriptions on a shared Redis client'

interface RedisCall {
  readonly args: readonly Argument[]
  readonly errorClasses: ErrorClasses
  send(args: readonly Argument[]): unknown
}

/** Makes one command; `args` begins with its name. */
export function makeCommand(session: Session, call: RedisCall): Promise<unknown> {
  const [name = '', ...rest] = call.args
  const { errorClasses } = call
  return performShared(session, {
    name: `redis.${String(name).toLowerCase()}`,
    title: titleOf(rest.slice(0, 20).join(' ')),
    input: rest,
    errorClasses,
    run: async (edited) =>
      call.send(edited ? [name, ...(decodeBody('json', edited) as Argument[])] : call.args),
  }).then((reply) => restoreErrors(reply, errorClasses))
}

export interface RedisBatch {
  readonly kind: 'pipeline' | 'multi'
  readonly commands: readonly (readonly Argument[])[]
  readonly errorClasses: ErrorClasses
  send(commands: readonly (readonly Argument[])[]): unknown
}

/** Makes all commands of a pipeline or transaction; they must not mix with those of other runs. */
export function makeBatch(
  session: Session,
  { kind, commands, errorClasses, send }: RedisBatch,
): Promise<unknown> {
  return performShared(session, {
    name: `redis.${kind}`,
    title: titleOf(commands.map(([name]) => String(name).toLowerCase()).join(' ')),
    input: commands,
    errorClasses,
    run: async (edited) =>
      send(edited ? (decodeBody('json', edited) as typeof commands) : commands),
  }).then((replies) => restoreErrors(replies, errorClasses))
}

export const plainCall =
  (name: string, errorClasses: ErrorClasses): SharedMethod =>
  (session, native, self, args) =>
    answer(
      performShared(session, {
        name,
        errorClasses,
        run: async () => void (await native.apply(self, args.filter(isData))),
      }),
      args.find((each) => typeof each === 'function'),
    )

const isData = (argument: unknown): boolean => typeof argument !== 'function'

export const outsideRun = (): Error =>
  errors.BOUNDARY_NOT_REPLAYABLE('A Redis command outside the run')
