import { attempt, type ErrorClasses } from '@retake/tape/format'
import { replace, undoAll, type Undo } from '../boundaries/patching/patch.js'
import { loadedModules } from '../boundaries/patching/when-loaded.js'
import {
  type Argument,
  makeBatch,
  makeCommand,
  outsideRun,
  plainCall,
  SUBSCRIPTIONS,
} from '../boundaries/shared/redis-commands.js'
import {
  answer,
  type Class,
  errorClassesOf,
  type Method,
  patchLibrary,
  patchShared,
  sharedIn,
  type SharedMethod,
  uncaptured,
} from '../boundaries/shared/shared-clients.js'
import type { Integration } from './integration.js'

/**
 * Shared clients: each command is recorded with its arguments and reply; a pipeline or transaction
 * is one call. Not captured: subscriptions.
 */
export const ioredis: Integration = {
  package: 'ioredis',
  versions: '>=5',
  install: () =>
    patchLibrary(
      /(^|[\\/])ioredis([\\/]built[\\/]index\.js)?$/,
      ioredisLibraries,
      ({ Redis, Cluster }) => [Redis, Cluster],
      patchIoredis,
    ),
}

interface Ioredis {
  readonly Redis: Class
  readonly Cluster: Class
  readonly Pipeline: (new (redis: object) => Pipeline) & Class
  readonly autoPipelining: { readonly shouldUseAutoPipelining?: Method }
  readonly errorClasses: ErrorClasses
}

interface Command {
  readonly name: string
  readonly args: Argument[]
  readonly promise: Promise<unknown>
  transformReply(reply: unknown): unknown
  initPromise(): void
  resolve(reply: unknown): void
  reject(error: unknown): void
}

interface Pipeline {
  readonly redis: object
  isCluster: boolean
  sendCommand(command: Command): unknown
  exec(): Promise<unknown>
  reject(error: unknown): void
}

function ioredisLibraries(): Ioredis[] {
  return loadedModules(/[\\/]ioredis[\\/]built[\\/]index\.js$/).flatMap((module) => {
    const { Redis, Cluster, Pipeline } = (module.exports ?? {}) as Partial<Ioredis>
    if (!Redis || !Cluster || !Pipeline) return []
    const autoPipelining = module.require('./autoPipelining') as Ioredis['autoPipelining']
    const errorClasses = errorClassesOf(
      module.require('redis-errors'),
      module.require('./errors'),
      // Since version 6.
      attempt(() => module.require('./resp/errors')),
    )
    return [{ Redis, Cluster, Pipeline, autoPipelining, errorClasses }]
  })
}

function patchIoredis({ Redis, Cluster, Pipeline, autoPipelining, errorClasses }: Ioredis): Undo {
  /** Collects the commands of a pipeline, which sends all of them in one synchronous step. */
  let batch: Command[] | undefined

  const sendCommand: SharedMethod = (session, native, self, [given]) => {
    const command = given as Command
    if (batch !== undefined) batch.push(command)
    else if (/^[ps]?subscribe$/i.test(command.name))
      return uncaptured(session, SUBSCRIPTIONS, () => native.call(self, command))
    else {
      const reply = makeCommand(session, {
        args: [command.name, ...command.args],
        errorClasses,
        send: ([, ...args]) => {
          const copy = copyOf(command, args)
          native.call(self, copy)
          return copy.promise
        },
      })
      void reply.then(...settle(command))
    }
    return command.promise
  }

  const exec: SharedMethod = (session, native, self, args) => {
    const pipeline = self as Pipeline
    const commands = (batch = [] as Command[])
    let result: unknown
    try {
      result = native.apply(self, args)
    } finally {
      batch = undefined
    }
    if (commands.length === 0) return result
    const replies = makeBatch(session, {
      kind: commands[0]?.name === 'multi' ? 'multi' : 'pipeline',
      commands: commands.map(({ name, args: each }) => [name, ...each]),
      errorClasses,
      send: (inputs) => {
        const real = new Pipeline(pipeline.redis)
        for (const [at, command] of commands.entries())
          real.sendCommand(copyOf(command, inputs[at]?.slice(1) ?? []))
        return real.exec()
      },
    }) as Promise<[error: unknown, reply?: unknown][]>
    const settleAll = (outcomes: Awaited<typeof replies>): void => {
      for (const [at, command] of commands.entries()) {
        const [resolve, reject] = settle(command)
        const [error, reply] = outcomes[at] ?? []
        if (error) reject(error)
        else resolve(reply)
      }
    }
    void replies.then(settleAll, (error: unknown) => pipeline.reject(error))
    return result
  }

  /** A cluster sends pipelines when its nodes are known; here, that is up to the real pipeline. */
  const unrouted: SharedMethod = (_, native, self, args) => {
    const pipeline = native.apply(self, args) as Partial<Pipeline>
    if (pipeline.isCluster) pipeline.isCluster = false
    return pipeline
  }

  const shouldUse = autoPipelining.shouldUseAutoPipelining
  return undoAll([
    ...[Redis, Cluster].flatMap(({ prototype }) => [
      patchShared(prototype, 'sendCommand', sendCommand, {
        offline: (_, [command]) => {
          ;(command as Command).reject(outsideRun())
          return (command as Command).promise
        },
      }),
      patchShared(prototype, 'connect', plainCall('redis.connect', errorClasses), {
        offline: (_, [callback]) => answer(Promise.resolve(), callback),
      }),
    ]),
    patchShared(Cluster.prototype, 'multi', unrouted),
    patchShared(Cluster.prototype, 'pipeline', unrouted),
    patchShared(Pipeline.prototype, 'exec', exec, { ownerOf: (self) => (self as Pipeline).redis }),
    // An automatic pipeline contains the commands of several runs.
    shouldUse === undefined
      ? () => {}
      : replace(autoPipelining, 'shouldUseAutoPipelining', (client: object, ...rest: unknown[]) => {
          return !sharedIn(client) && shouldUse.call(autoPipelining, client, ...rest)
        }),
  ])
}

/** The command as it is really sent. The agent's own one is settled when its turn comes. */
function copyOf(command: Command, args: readonly Argument[]): Command {
  const own = { args: [...args], callback: undefined, errorStack: undefined }
  const copy = Object.assign(Object.create(command) as Command, own)
  copy.initPromise()
  return copy
}

function settle(
  command: Command,
): [resolve: (reply: unknown) => void, reject: (error: unknown) => void] {
  return [
    (reply) => {
      // The reply was converted before it was recorded.
      command.transformReply = (converted) => converted
      command.resolve(reply)
    },
    (error) => command.reject(error),
  ]
}
