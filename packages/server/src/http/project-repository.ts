import type { RunCard } from '@retake/tape'
import type { RunRepository } from '@retake/web'
import type { RetakeParts } from '../edge/parts.js'
import type { TeamRuns } from '../runs/team-runs.js'
import type { Actor, StoredProject, TeamRunRow } from '../database/tables.js'

/**
 * The runs of a project for the viewer. Lists come from the index; opening a run copies it to the
 * folder of its project first. Nothing can be executed here: use jobs.
 */
export class ProjectRepositories {
  /** Local repositories by folder. Each watches its folder while pages are open. */
  readonly #local = new Map<string, RunRepository>()

  constructor(
    private readonly runs: TeamRuns,
    private readonly parts: RetakeParts,
  ) {}

  for(actor: Actor, project: StoredProject): RunRepository {
    const folder = this.runs.cache.folderOf(actor.org, project.id)
    const local = this.#local.get(folder) ?? this.parts.repository(folder)
    this.#local.set(folder, local)

    const runs = this.runs
    const opened = async (id: string): Promise<void> => {
      if (!runs.cache.isLive(actor.org, project.id, id)) await runs.open(actor, project, id)
    }
    return {
      name: project.name,
      tabs: local.tabs,
      runs: async () => (await runs.list(actor, project, {})).runs.map(cardOf),
      open: async (id) => {
        await opened(id)
        const run = await local.open(id)
        const why = 'Start a job on the page of the run instead.'
        return { ...run, abilities: { fork: why, rerun: why, step: why } }
      },
      watch: (notify) => {
        const unwatch = local.watch(notify)
        const unwatchIndex = runs.watch((change) => {
          if (change.org === actor.org && change.project === project.id) notify({ type: 'runs' })
        })
        return () => {
          unwatch()
          unwatchIndex()
        }
      },
      branches: async (id) => {
        await opened(id)
        return local.branches(id)
      },
      compare: async (a, b) => {
        await opened(a)
        await opened(b)
        return local.compare(a, b)
      },
    }
  }

  async close(): Promise<void> {
    for (const each of this.#local.values()) await each.close?.()
  }
}

/** Omits columns that are null. */
const cardOf = ({ startedAt, parent, branchKind: kind, ...row }: TeamRunRow): RunCard =>
  ({
    ...Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)),
    startedAt: Date.parse(startedAt),
    ...(parent !== null && { branch: { kind, parent } }),
  }) as RunCard
