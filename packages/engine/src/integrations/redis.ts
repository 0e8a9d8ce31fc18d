import type { ErrorClasses } from '@retake/tape/format'
import { replaceGetter, undoAll, type Undo } from '../boundaries/patching/patch.js'
import { loadedModules } from '../boundaries/patching/when-loaded.js'
import {
  type Argument,
  makeBatch,
  makeCommand,
  outsideRun,
  plainCall,
  type RedisBatch,
  SUBSCRIPTIONS,
} from '../boundaries/shared/redis-commands.js'
import {
  type Class,
  errorClassesOf,
  patchLibrary,
  patchShared,
  performShared,
  sharedIn,
  type SharedMethod,
  uncaptured,
} from '../boundaries/shared/shared-clients.js'
import type { Integration } from './integration.js'

/**
 * Shared clients of the official package ("node-redis"): each command is recorded with its
 * arguments and reply; a pipeline or transaction is one call. Not captured: subscriptions, pools,
 * clusters and isolated clients.
 */
export const redis: Integration = {
  package: 'redis',
  versions: '>=4',
  install: () =>
    patchLibrary(
      /(^|[\\/])(redis|@redis[\\/]client)([\\/]dist[\\/]index\.js)?$/,
      nodeRedisLibraries,
      ({ Client, others }) => [Client, ...others],
      patchNodeRedis,
    ),
}

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
  const refused = (): Promise<never> => Promise.reject(outsideRun())
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
