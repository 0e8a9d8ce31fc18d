import type { Context } from 'hono'
import type { MemberAccess } from './access.js'
import type { Accounts } from '../people/accounts.js'
import type { ApiKeys } from '../people/api-keys.js'
import type { TeamApprovals } from '../runs/approvals.js'
import type { Database } from '../database/database.js'
import type { TeamJobs } from '../jobs/jobs.js'
import type { ServerKeys } from '../storage/server-keys.js'
import type { Log } from '../edge/log.js'
import type { Members } from '../people/members.js'
import type { Metrics } from './metrics.js'
import type { ModelEndpoints } from '../jobs/model-endpoint.js'
import type { Notifications } from '../notify/notifications.js'
import type { ProjectRepositories } from './project-repository.js'
import type { TeamRuns } from '../runs/team-runs.js'
import type { Settings } from '../edge/settings.js'

/** What the routes need of a running server. */
export interface AppParts {
  readonly access: MemberAccess
  readonly accounts: Accounts
  readonly apiKeys: ApiKeys
  readonly approvals: TeamApprovals
  readonly database: Database
  readonly jobs: TeamJobs
  readonly keys: ServerKeys
  readonly log: Log
  readonly members: Members
  readonly metrics: Metrics
  readonly models: ModelEndpoints
  readonly notifications: Notifications
  readonly repositories: ProjectRepositories
  readonly runs: TeamRuns
  readonly settings: Settings
  readonly setupToken: string
  readonly version: string
  /** Public address without a trailing slash. */
  readonly url: string
}

export interface RouteParts extends AppParts {
  readonly address: (c: Context) => string
}
