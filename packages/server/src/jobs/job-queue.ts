import pg from 'pg'
import { PgBoss } from 'pg-boss'
import type { DatabaseAddress } from '../database/database.js'
import type { Log } from '../edge/log.js'

export interface OrgLoad {
  readonly org: string
  readonly waiting: number
  readonly running: number
}

/** Jobs that only read are short, so they run before jobs that start a program. */
const PRIORITY = { readsOnly: 1, runsCode: 0 } as const
const HEARTBEAT_S = 10
const SUPERVISE_S = 3
const DAY_S = 86_400

/**
 * The order in which organizations get their next job: fewest running jobs first, then the longest
 * time since the last job.
 */
export function fairOrder(
  loads: readonly OrgLoad[],
  lastTurn: ReadonlyMap<string, number>,
): string[] {
  return loads
    .filter(({ waiting }) => waiting > 0)
    .toSorted(
      (a, b) =>
        a.running - b.running ||
        (lastTurn.get(a.org) ?? 0) - (lastTurn.get(b.org) ?? 0) ||
        a.org.localeCompare(b.org),
    )
    .map(({ org }) => org)
}

/**
 * The queue of jobs that wait or have a live worker. Uses one pg-boss queue per organization, because
 * its group limits do not hold with several workers. Delivery is at least once: if a worker is silent
 * for 10 seconds, its job is handed out again.
 */
export class JobQueue {
  readonly #known = new Set<string>()
  readonly #lastTurn = new Map<string, number>()
  #turns = 0
  #fetching: Promise<unknown> = Promise.resolve()

  private constructor(
    private readonly pool: pg.Pool,
    private readonly boss: PgBoss,
  ) {}

  static async open(address: DatabaseAddress, log: Log): Promise<JobQueue> {
    const pool = new pg.Pool({ ...address, max: 4, connectionTimeoutMillis: 10_000 })
    pool.on('error', () => {})
    pool.on('connect', (client) => client.on('error', () => {}))
    const boss = new PgBoss({
      db: { executeSql: (text, values) => pool.query(text, values) },
      schema: 'queue',
      createSchema: false,
      schedule: false,
      superviseIntervalSeconds: SUPERVISE_S,
      monitorIntervalSeconds: SUPERVISE_S,
    })
    // The queue retries by itself. Requests report an unreachable database.
    boss.on('error', (error) => log.warn('job queue error', { error: error.message }))
    await boss.start()
    return new JobQueue(pool, boss)
  }

  /** Adds a job unless it is already in the queue. */
  async add(org: string, id: string, runsCode: boolean): Promise<void> {
    await this.#prepare(org)
    const priority = runsCode ? PRIORITY.runsCode : PRIORITY.readsOnly
    await this.boss.send(org, {}, { id, priority })
  }

  async #prepare(org: string): Promise<void> {
    if (this.#known.has(org)) return
    await this.boss.createQueue(org, {
      heartbeatSeconds: HEARTBEAT_S,
      // The job table counts attempts and stores a reason for people.
      retryLimit: 1000,
      retryDelay: 0,
      expireInSeconds: DAY_S - 1,
      retentionSeconds: 14 * DAY_S,
      deleteAfterSeconds: 3600,
    })
    this.#known.add(org)
  }

  /** Takes the next job in fair order. Calls run one at a time, so that each sees the last one's effect. */
  take(mayRunCode: boolean): Promise<{ readonly org: string; readonly id: string } | undefined> {
    const filter = mayRunCode ? {} : { minPriority: PRIORITY.readsOnly }
    const taken = this.#fetching.then(async () => {
      for (const org of fairOrder(await this.loads(), this.#lastTurn)) {
        await this.#prepare(org)
        const [job] = await this.boss.fetch(org, { batchSize: 1, ...filter })
        if (job === undefined) continue
        this.#lastTurn.set(org, ++this.#turns)
        return { org, id: job.id }
      }
      return undefined
    })
    this.#fetching = taken.catch(() => {})
    return taken
  }

  async loads(): Promise<OrgLoad[]> {
    const { rows } = await this.pool.query<{ name: string; waiting: string; running: string }>(
      `select name,
        count(*) filter (where state in ('created', 'retry') and start_after <= now()) as waiting,
        count(*) filter (where state = 'active') as running
      from queue.job where state < 'completed' group by name`,
    )
    return rows.map(({ name, waiting, running }) => ({
      org: name,
      waiting: Number(waiting),
      running: Number(running),
    }))
  }

  /** Reports that the worker of a job is still alive. */
  async touch(org: string, id: string): Promise<void> {
    await this.boss.touch(org, id)
  }

  /** Hands a job out again without waiting for the heartbeat timeout. */
  async retry(org: string, id: string): Promise<void> {
    await this.boss.fail(org, id)
  }

  /** Removes a job, whatever its state. */
  async remove(org: string, id: string): Promise<void> {
    await this.#prepare(org)
    await this.boss.deleteJob(org, id)
  }

  async close(): Promise<void> {
    await this.boss.stop({ graceful: false, close: false })
    await this.pool.end()
  }
}
