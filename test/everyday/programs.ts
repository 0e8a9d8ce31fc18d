/**
 * Programs as people write them. Each is recorded once, then everything it
 * talked to is stopped, and it is replayed. There are two good outcomes:
 * identical, or refused with the right reason while it was being recorded.
 */
export interface Program {
  readonly group: string
  readonly title: string
  /** Arguments after `retake record`, or the program itself for {@link inProcess}. */
  readonly command: readonly string[]
  /** The program calls `record()` and `replay()` itself: `node <command> record|replay`. */
  readonly inProcess?: true
  /** A shell command that prepares the folder. */
  readonly prepare?: string
  readonly needs?: readonly Need[]
  /** Packages whose integration it needs; see packages/engine/src/integrations. */
  readonly integrations?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Lines typed into the program. */
  readonly input?: string
  readonly exitCode?: number
  /** Said when recording ends. Without it, every replay must be identical. */
  readonly refused?: RegExp
}

export type Need =
  | 'postgres'
  | 'redis'
  | 'python'
  | 'terminal'
  | 'better-sqlite3'
  | 'node:sqlite'
  | 'bottleneck'

type Row = readonly [title: string, file: string, more?: Partial<Program>]

const group = (name: string, rows: readonly Row[]): Program[] =>
  rows.map(([title, file, more]) => ({ group: name, title, command: [file], ...more }))

const listens = /listen/
const python = (file: string) => ({ command: ['--', 'python', file], needs: ['python'] as const })

export const programs: readonly Program[] = [
  ...group('server, recorded whole', [
    ['Express', 'server-express.mjs', { refused: listens }],
    ['Fastify', 'server-fastify.mjs', { refused: listens }],
    ['Hono', 'server-hono.mjs', { refused: listens }],
    ['Koa', 'server-koa.mjs', { refused: listens }],
  ]),
  ...group('server, record() per request', [
    ['Express', 'requests-express.mjs', { inProcess: true }],
    ['Fastify', 'requests-fastify.mjs', { inProcess: true }],
    ['Hono, streamed response', 'requests-hono-stream.mjs', { inProcess: true }],
    ['Koa, concurrent requests', 'requests-koa.mjs', { inProcess: true }],
    ['shared log files', 'requests-shared-log.mjs', { inProcess: true, integrations: ['pino'] }],
    ['shared p-queue', 'requests-p-queue.mjs', { inProcess: true, integrations: ['p-queue'] }],
    [
      'shared Bottleneck',
      'requests-bottleneck.mjs',
      { inProcess: true, needs: ['bottleneck'], integrations: ['bottleneck'] },
    ],
    [
      'OpenTelemetry',
      'requests-opentelemetry.mjs',
      { inProcess: true, integrations: ['@opentelemetry/api'] },
    ],
    [
      'shared pg.Pool',
      'requests-pg-pool.mjs',
      { inProcess: true, needs: ['postgres'], integrations: ['pg'] },
    ],
    [
      'shared Redis client',
      'requests-redis.mjs',
      { inProcess: true, needs: ['redis'], integrations: ['ioredis'] },
    ],
  ]),
  ...group('database', [
    ['PostgreSQL with a password', 'postgres.mjs', { needs: ['postgres'] }],
    ['Redis, pipeline and pub/sub', 'redis.mjs', { needs: ['redis'] }],
    [
      'better-sqlite3',
      'better-sqlite3.mjs',
      { needs: ['better-sqlite3'], integrations: ['better-sqlite3'] },
    ],
    ['node:sqlite', 'node-sqlite.mjs', { needs: ['node:sqlite'], integrations: ['node:sqlite'] }],
  ]),
  ...group('input', [
    ['lines on stdin', 'stdin-lines.mjs', { input: 'one\ntwo\nthree\n' }],
    ['readline on a terminal', 'terminal.mjs', { input: 'Ada\nno\n', needs: ['terminal'] }],
  ]),
  ...group('children and threads', [
    ['git and sort', 'children-git.mjs'],
    ['execa', 'children-execa.mjs'],
    ['fork with messages', 'children-ipc.mjs'],
    ['worker threads', 'workers.mjs'],
  ]),
  ...group('build', [
    ['minified bundle', 'dist/agent.mjs', { prepare: 'node build-bundle.mjs' }],
    ['CommonJS', 'common-js.cjs'],
    [
      'standard decorators',
      'decorated/decorators.ts',
      {
        prepare:
          'mkdir -p decorated/node_modules && cp decorators.ts decorated && cp model.mjs decorated && ln -s ../../node_modules/typescript-5 decorated/node_modules/typescript',
      },
    ],
    ['enums and namespaces', 'language.cts'],
    [
      'monorepo with path aliases',
      'monorepo/apps/agent/src/main.ts',
      {
        prepare:
          'mkdir -p monorepo/node_modules/@acme && ln -s ../../packages/prompts monorepo/node_modules/@acme/prompts',
      },
    ],
    [
      'tsx',
      '',
      { command: ['--node-arg=--import=tsx', 'tsx.mts'], prepare: 'cp decorators.ts tsx.mts' },
    ],
    [
      'preloaded module',
      'preloaded.mjs',
      { command: ['--node-arg=--import=./setup.mjs', 'preloaded.mjs'] },
    ],
    ['preload in NODE_OPTIONS', 'preloaded.mjs', { env: { NODE_OPTIONS: '--import=./setup.mjs' } }],
    ['plugins from a folder', 'plugins.mjs'],
  ]),
  ...group('SDK or protocol', [
    ['AI SDK with tools', 'ai-sdk-tools.mjs'],
    ['LangGraph with memory', 'langgraph.mjs'],
    ['OpenAI Agents, streamed', 'openai-agents.mjs'],
    ['global dispatcher of undici', 'global-dispatcher.mjs', { integrations: ['undici'] }],
    ['stream left early', 'early-break.mjs'],
    ['HTTP/2 left early', 'http2-break.mjs'],
    ['HTTP/2 with a deadline, as in gRPC', 'http2-deadline.mjs'],
    ['WebSocket', 'websocket.mjs'],
    ['MCP server on stdio', 'mcp-stdio.mjs'],
  ]),
  ...group('everyday code', [
    ['files, gzip, temporary folders', 'files.mjs'],
    [
      'signature with a secret',
      'signed.mjs',
      { env: { WEBHOOK_SECRET: `made-up-${'w'.repeat(24)}` } },
    ],
    ['timers, time limits, retries', 'timers.mjs'],
    ['uncaught exception', 'crash.mjs', { exitCode: 1 }],
    ['process.exit', 'exit-early.mjs', { exitCode: 7 }],
    ['environment', 'environment.mjs'],
    ['signals', 'signals.mjs', { exitCode: 5 }],
    ['host, process, clock and chance', 'host.mjs'],
  ]),
  ...group('not captured', [
    ['generated keys', 'keys.mjs', { refused: /generateKeyPair/ }],
    ['vm context', 'vm-context.mjs', { refused: /vm/ }],
    ['datagrams', 'datagrams.mjs', { refused: /dgram/ }],
    ['MessageChannel', 'message-channel.mjs', { refused: /MessageChannel|MessagePort/ }],
    ['log transport in a thread', 'log-thread.mjs', { refused: /log transport in a thread/ }],
    ['memory shared with a thread', 'shared-memory.mjs', { refused: /SharedArrayBuffer/ }],
    ['native add-on', 'native-addon.mjs', { refused: /native add-on/ }],
  ]),
  ...group('another language', [
    ['Python: openai', '', python('python-openai.py')],
    ['Python: anthropic', '', python('python-anthropic.py')],
    ['Python: LangChain', '', python('python-langchain.py')],
    ['Python: asyncio.gather', '', python('python-gather.py')],
    ['Python: urllib', '', python('python-plain.py')],
    [
      'Python: appends to a file',
      '',
      { ...python('python-files.py'), refused: /file refunds\.log/ },
    ],
    ['curl in a shell script', '', { command: ['--', 'sh', 'shell.sh'] }],
  ]),
]

/** Tests of the integrations that no program above needs. */
export const testedElsewhere: Readonly<Record<string, string>> = {
  // The three ways in which versions of the package send commands.
  redis: 'test/engine/shared-redis.test.ts',
  // Needs MariaDB.
  mysql2: 'test/engine/shared-mysql.test.ts',
  // Imitated, because their SDKs report to a service.
  '@sentry/node': 'test/cli/function-runs.test.ts',
  'dd-trace': 'test/cli/function-runs.test.ts',
  // Test runners start the program.
  jest: 'test/cli/jest-matcher.test.ts',
  'graceful-fs': 'test/cli/jest-matcher.test.ts',
  vitest: 'test/cli/older-runners.test.ts',
}

/**
 * Run before each merge: a program for each way in or out of a process, unless another
 * test replays the same. The others run in a soak.
 */
export const sampledPrograms: ReadonlySet<string> = new Set([
  'server-express.mjs',
  'requests-koa.mjs',
  'requests-shared-log.mjs',
  'requests-p-queue.mjs',
  'requests-opentelemetry.mjs',
  'requests-hono-stream.mjs',
  'children-git.mjs',
  'children-ipc.mjs',
  'workers.mjs',
  'common-js.cjs',
  'dist/agent.mjs',
  'http2-deadline.mjs',
  'global-dispatcher.mjs',
  'files.mjs',
  'timers.mjs',
  'crash.mjs',
  'vm-context.mjs',
  'log-thread.mjs',
  'shared-memory.mjs',
])
