import { attempt, decodeBody, type ErrorClasses } from '@retake/tape/format'
import { errors } from '../errors.js'
import type { Session } from '../kernel/session.js'
import { replace, replaceGetter, undoAll, type Undo } from '../boundaries/patching/patch.js'
import { loadedModules } from '../boundaries/patching/when-loaded.js'
import {
  answer,
  errorClassesOf,
  patchLibrary,
  patchShared,
  performShared,
  restoreErrors,
  sharedIn,
  titleOf,
  uncaptured,
  type Class,
  type Method,
  type SharedMethod,
} from '../boundaries/shared/shared-clients.js'

/**
 * Shared Redis clients of the packages ioredis (5 and later) and redis (4 and later): each command
 * is recorded with its arguments and reply; a pipeline or transaction is one call. Not captured:
 * subscriptions, and the pools, clusters and isolated clients of the package redis.
 */
export const patchSharedRedis = (): Undo =>
  undoAll([
    patchLibrary(
      /(^|[\\/])ioredis([\\/]built[\\/]index\.js)?$/,
      ioredisLibraries,
      ({ Redis, Cluster }) => [Redis, Cluster],
      patchIoredis,
    ),
    patchLibrary(
      /(^|[\\/])(redis|@redis[\\/]client)([\\/]dist[\\/]index\.js)?$/,
      nodeRedisLibraries,
      ({ Client, others }) => [Client, ...others],
      patchNodeRedis,
    ),
  ])

type Argument = string | Buffer

const SUBSCRIPTIONS = 'subscriptions on a shared Redis client'

interface RedisCall {
  readonly args: readonly Argument[]
  readonly errorClasses: ErrorClasses
  send(args: readonly Argument[]): unknown
}

/** Makes one command; `args` begins with its name. */
function makeCommand(session: Session, call: RedisCall): Promise<unknown> {
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

interface RedisBatch {
  readonly kind: 'pipeline' | 'multi'
  readonly commands: readonly (readonly Argument[])[]
  readonly errorClasses: ErrorClasses
  send(commands: readonly (readonly Argument[])[]): unknown
}

/** Makes all commands of a pipeline or transaction; they must not mix with those of other runs. */
function makeBatch(session: Session, { kind, commands, errorClasses, send }: RedisBatch) {
  return performShared(session, {
    name: `redis.${kind}`,
    title: titleOf(commands.map(([name]) => String(name).toLowerCase()).join(' ')),
    input: commands,
    errorClasses,
    run: async (edited) =>
      send(edited ? (decodeBody('json', edited) as typeof commands) : commands),
  }).then((replies) => restoreErrors(replies, errorClasses))
}

const plainCall =
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

const outside = (): Error => errors.BOUNDARY_NOT_REPLAYABLE('A Redis command outside the run')

// ── ioredis ─────────────────────────────────────────────────────────────────

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
          ;(command as Command).reject(outside())
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

// ── the package redis ───────────────────────────────────────────────────────

interface NodeRedis {
  readonly Client: Class
  /** Pools and clusters, in versions that have them as classes. */
  readonly others: readonly Class[]
  readonly errorClasses: ErrorClasses
  /** In version 4, commands do not use a method that could be patched. */
  readonly v4?: { readonly commands: Record<string, unknown>; readonly commander: Commander }
}

interface Commander {
  transformCommandArguments(
    command: unknown,
    args: unknown,
  ): { readonly args: Argument[] & { readonly preserve?: unknown }; readonly options: unknown }
  transformCommandReply(command: unknown, reply: unknown, preserve: unknown): unknown
  fCallArguments(...args: unknown[]): Argument[]
}

interface NodeRedisClient {
  readonly _self?: object
  readonly clientSideCache?: unknown
  sendCommand(args: readonly Argument[], options: unknown): Promise<unknown>
}

type Queued = readonly { readonly args: readonly Argument[] }[]

function nodeRedisLibraries(): NodeRedis[] {
  const file = /[\\/]@redis[\\/]client[\\/]dist[\\/]lib[\\/]client[\\/]index\.js$/
  return loadedModules(file).flatMap((module) => {
    const { default: Client } = (module.exports ?? {}) as { readonly default?: Class }
    if (Client === undefined) return []
    const errorClasses = errorClassesOf(module.require('../errors'))
    const { default: Cluster } = module.require('../cluster') as { readonly default: Class }
    if (!('commandsExecutor' in Client.prototype)) {
      const { RedisClientPool } = module.require('./pool') as { readonly RedisClientPool: Class }
      return [{ Client, others: [Cluster, RedisClientPool], errorClasses }]
    }
    const commander = module.require('../commander') as Commander
    const { default: commands } = module.require('./commands') as {
      readonly default: Record<string, unknown>
    }
    return [{ Client, others: [Cluster], errorClasses, v4: { commands, commander } }]
  })
}

function patchNodeRedis({ Client, others, errorClasses, v4 }: NodeRedis): Undo {
  const client = Client.prototype
  const ownerOf = (self: object): object => (self as NodeRedisClient)._self ?? self
  const patch = (name: string, shared: SharedMethod, offline?: (self: object) => unknown): Undo =>
    patchShared(client, name, shared, { ownerOf, ...(offline && { offline }) })
  const refused = (): Promise<never> => Promise.reject(outside())
  const batch =
    (kindOf: (args: readonly unknown[]) => RedisBatch['kind']): SharedMethod =>
    (session, native, self, [queued, ...rest]) =>
      makeBatch(session, {
        kind: kindOf(rest),
        commands: (queued as Queued).map(({ args }) => [...args]),
        errorClasses,
        send: (commands) =>
          native.call(
            self,
            (queued as Queued).map((each, at) => ({ ...each, args: commands[at] })),
            ...rest,
          ),
      })
  const not =
    (name: string): SharedMethod =>
    (session, native, self, args) =>
      uncaptured(session, name, () => native.apply(self, args))
  return undoAll([
    patch(
      'sendCommand',
      (session, native, self, [args, options]) =>
        makeCommand(session, {
          args: args as Argument[],
          errorClasses,
          send: (sent) => native.call(self, sent, options),
        }),
      refused,
    ),
    patch(
      'connect',
      (session, native, self) =>
        performShared(session, {
          name: 'redis.connect',
          errorClasses,
          run: async () => void (await native.call(self)),
        }).then(() => self),
      (self) => Promise.resolve(self),
    ),
    ...['QUIT', 'close', 'disconnect'].map((name) =>
      patch(name, plainCall(`redis.${name.toLowerCase()}`, errorClasses)),
    ),
    ...['isOpen', 'isReady'].map((name) => drawGetter(client, name, ownerOf)),
    ...['SUBSCRIBE', 'PSUBSCRIBE', 'SSUBSCRIBE', 'MONITOR'].map((name) =>
      patch(name, not(SUBSCRIPTIONS)),
    ),
    patch(
      '_executeMulti',
      batch(() => 'multi'),
      refused,
    ),
    patch(
      '_executePipeline',
      batch(() => 'pipeline'),
      refused,
    ),
    // The cache has replies to other runs.
    patch('_executeCommand', async (_, native, self, args) => {
      const { clientSideCache } = self as NodeRedisClient
      if (clientSideCache === undefined) return native.apply(self, args)
      const [, parser, options, transform] = args as [
        unknown,
        { readonly redisArgs: Argument[]; readonly preserve?: unknown },
        { readonly typeMapping?: unknown } | undefined,
        ((...parts: unknown[]) => unknown) | undefined,
      ]
      const reply = await (self as NodeRedisClient).sendCommand(parser.redisArgs, options)
      return transform ? transform(reply, parser.preserve, options?.typeMapping) : reply
    }),
    // Version 4: with the id of a chain, it is a transaction.
    patch(
      'multiExecutor',
      batch(([, chain]) => (chain ? 'multi' : 'pipeline')),
      refused,
    ),
    patch('executeIsolated', not('an isolated client of a shared Redis client')),
    ...others.flatMap(({ prototype }) =>
      ['execute', '_execute', 'commandsExecutor', 'sendCommand'].map((name) =>
        patchShared(prototype, name, not('a Redis pool or cluster of the package redis'), {
          ownerOf,
        }),
      ),
    ),
    ...(v4 ? patchCommands(client, v4) : []),
  ])
}

/** Records a getter such as `isOpen`, whose value depends on earlier requests. */
const drawGetter = (target: object, name: string, ownerOf: (self: object) => object): Undo => {
  const native = Object.getOwnPropertyDescriptor(target, name)?.get
  if (native === undefined) return () => {}
  return replaceGetter(target, name, function (this: object) {
    const read = (): unknown => native.call(this) as unknown
    const session = sharedIn(ownerOf(this))
    return session ? session.draw(`redis.${name}`, read) : read()
  })
}

/** Commands of version 4: what the library does, through `sendCommand`. */
function patchCommands(
  client: object,
  { commands, commander }: NonNullable<NodeRedis['v4']>,
): Undo[] {
  const execute = async (self: object, command: unknown, given: unknown): Promise<unknown> => {
    const { args, options } = commander.transformCommandArguments(command, given)
    const reply = await (self as NodeRedisClient).sendCommand(args, options)
    return commander.transformCommandReply(command, reply, args.preserve)
  }
  const executeScript: SharedMethod = async (_, __, self, [script, args, options]) => {
    const { SHA1, SCRIPT, NUMBER_OF_KEYS } = script as Readonly<Record<string, Argument>>
    const send = (...start: Argument[]): Promise<unknown> => {
      const keys = NUMBER_OF_KEYS === undefined ? [] : [String(NUMBER_OF_KEYS)]
      return (self as NodeRedisClient).sendCommand(
        [...start, ...keys, ...(args as Argument[])],
        options,
      )
    }
    try {
      return await send('EVALSHA', SHA1 ?? '')
    } catch (error) {
      if (!(error as Error).message.startsWith('NOSCRIPT')) throw error
      return send('EVAL', SCRIPT ?? '')
    }
  }
  return [
    ...Object.entries(commands).map(([name, command]) =>
      patchShared(client, name, (_, __, self, args) => execute(self, command, args)),
    ),
    patchShared(client, 'commandsExecutor', (_, __, self, [command, args]) =>
      execute(self, command, args),
    ),
    patchShared(client, 'executeScript', executeScript),
    patchShared(client, 'executeFunction', (_, __, self, [name, fn, args, options]) =>
      (self as NodeRedisClient).sendCommand(commander.fCallArguments(name, fn, args), options),
    ),
    patchShared(client, 'SELECT', (session, native, self, args) =>
      performShared(session, {
        name: 'redis.select',
        input: args,
        run: async () => void (await native.apply(self, args)),
      }),
    ),
  ]
}
