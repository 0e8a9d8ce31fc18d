import { type Undo, undoAll } from '../boundaries/patching/patch.js'
import { betterSqlite3 } from './better-sqlite3.js'
import { bottleneck } from './bottleneck.js'
import { datadog } from './datadog.js'
import { gracefulFs } from './graceful-fs.js'
import type { Integration } from './integration.js'
import { ioredis } from './ioredis.js'
import { jest } from './jest.js'
import { mysql2 } from './mysql2.js'
import { nodeSqlite } from './node-sqlite.js'
import { opentelemetry } from './opentelemetry.js'
import { pQueue } from './p-queue.js'
import { pg } from './pg.js'
import { pino } from './pino.js'
import { redis } from './redis.js'
import { sentry } from './sentry.js'
import { undici } from './undici.js'
import { vitest } from './vitest.js'

export const integrations: readonly Integration[] = [
  betterSqlite3,
  bottleneck,
  datadog,
  gracefulFs,
  ioredis,
  jest,
  mysql2,
  nodeSqlite,
  opentelemetry,
  pQueue,
  pg,
  pino,
  redis,
  sentry,
  undici,
  vitest,
]

export const installIntegrations = (): Undo =>
  undoAll(integrations.map((integration) => integration.install()))
