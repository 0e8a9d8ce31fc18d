/** The rows that the server stores, as its other parts and its clients see them. */
import type { ColumnType, Generated } from 'kysely'
import type { RunCard } from '@retake/tape'

/** In ascending order of rights. */
export const ROLES = ['viewer', 'member', 'admin', 'owner'] as const
export type Role = (typeof ROLES)[number]

export interface Actor {
  readonly org: string
  readonly user: string
  readonly role: Role
}

export interface StoredFile {
  /** Path below the folder of runs: `<run>.tape`, `<run>.children/…`. */
  readonly name: string
  readonly digest: string
  readonly bytes: number
}

export interface StoredProject {
  readonly id: string
  readonly slug: string
  readonly name: string
  readonly retentionDays: number | null
  readonly badgeToken: string
}

/** Optional members become null. */
type Nullable<T> = {
  readonly [Name in keyof T]-?: undefined extends T[Name]
    ? Exclude<T[Name], undefined> | null
    : T[Name]
}

type CardColumns = Omit<
  RunCard,
  'startedAt' | 'branch' | 'imported' | 'models' | 'tags' | 'failedCheck'
>

export interface TeamRunRow extends Nullable<CardColumns> {
  readonly startedAt: string
  readonly events: number
  readonly models: readonly string[]
  readonly tools: readonly string[]
  readonly tags: readonly string[]
  readonly cluster: string | null
  readonly parent: string | null
  readonly branchKind: string | null
  readonly pushedBy: string
  readonly pushedAt: string
  readonly digest: string
  readonly bytes: number
}

export interface RunComment {
  readonly id: string
  readonly step: string | null
  readonly author: string
  readonly text: string
  readonly at: string
}

export interface SavedFilter {
  readonly name: string
  readonly query: string
  readonly author: string
}

export const SCOPES = ['read', 'push', 'jobs', 'approve'] as const
export type Scope = (typeof SCOPES)[number]

/** Rights of a key: read runs, push and change runs, start jobs, decide on approvals. */
export interface ApiKey {
  readonly id: string
  readonly name: string
  readonly shown: string
  /** Id of the only project that it can access; null: all projects. */
  readonly project: string | null
  readonly scopes: readonly Scope[]
  readonly createdBy: string
  readonly createdAt: string
  readonly expiresAt: string | null
  readonly usedAt: string | null
}

export type JobKind = 'replay' | 'verify' | 'fork' | 'blame' | 'fix' | 'scan' | 'export'

export type JobOptions = Readonly<Record<string, string | number | boolean | readonly string[]>>

/** `stopped`: canceled by a user. `failed`: no answer; the result says why. */
export type JobState = 'waiting' | 'running' | 'done' | 'failed' | 'stopped'

export interface TeamJob {
  readonly id: string
  /** Id of the project. */
  readonly project: string
  readonly run: string
  readonly kind: JobKind
  readonly options: JobOptions
  readonly state: JobState
  readonly createdBy: string
  readonly createdAt: string
  readonly startedAt: string | null
  readonly endedAt: string | null
  readonly worker: string | null
  readonly attempts: number
  readonly progress: string | null
  readonly result: JobResult | null
}

export interface JobResult {
  /** Exit code of the command. 0 and 1 are answers, 3 is a finding. */
  readonly exitCode?: number
  /** JSON that the command printed. */
  readonly summary?: unknown
  /** The end of what the command wrote to stderr. */
  readonly output?: string
  /** Reason for a missing answer. */
  readonly error?: {
    readonly code: string
    readonly what: string
    readonly why: string
    readonly fix?: string
  }
  /** How to get a better answer. */
  readonly hint?: string
  /** Dollars spent on the model. */
  readonly costUsd?: number
  /** Branches that the command created. They become runs of the project. */
  readonly runs?: readonly { readonly run: string; readonly files: readonly StoredFile[] }[]
  readonly files?: readonly StoredFile[]
}

/** A model that jobs may use. Prices are in dollars per million tokens, if not public. */
export interface AllowedModel {
  readonly name: string
  readonly input?: number
  readonly output?: number
}

export type ModelProvider = 'openai' | 'anthropic' | 'google'

export interface ModelEndpoint {
  /** As SDKs expect it: `https://api.openai.com/v1`, `https://api.anthropic.com`. */
  readonly baseUrl: string
  readonly provider: ModelProvider
  readonly models: readonly AllowedModel[]
  readonly jobUsd: number
  readonly monthUsd: number
  readonly setBy: string
  readonly setAt: string
  /** Spent since the first of the month (UTC). */
  readonly spentUsd: number
}

export type NoticeEvent = 'failure' | 'cluster' | 'fix' | 'approval'

export interface Notice {
  readonly event: NoticeEvent
  /** Slug of the project. */
  readonly project: string
  readonly run: string
  readonly title: string
  readonly text: string
  /** Path below the public address. */
  readonly path: string
}

export interface Webhook {
  readonly id: string
  readonly url: string
  readonly events: readonly string[]
}

/** A guarded call that waits for approval, as described by its program. */
export interface RequestedCall {
  readonly tool: string
  readonly args: unknown
  readonly guard: string
  readonly rule: string
  readonly why: string
  readonly event: number
  readonly digest: string
  /** Distinguishes identical calls of different processes. */
  readonly nonce?: string
}

/** The columns of a table. The database fills in `Defaulted` columns. */
type Owned<Row, Defaulted extends keyof Row = never> = Omit<Row, Defaulted> & {
  readonly [Name in Defaulted]: Generated<Row[Name]>
} & { readonly org: string }

interface OfRun {
  readonly project: string
  readonly run: string
}

/** Tables with rows of organizations. Names are in camel case, times are ISO strings. */
export interface Tables {
  project: Owned<StoredProject>
  run: Owned<TeamRunRow & { project: string; search: unknown }>
  runFile: Owned<StoredFile & OfRun>
  comment: Owned<RunComment & OfRun>
  savedFilter: Owned<SavedFilter & { project: string }>
  apiKey: Owned<ApiKey & { hash: string }, 'createdAt'>
  audit: Owned<AuditEntry, 'id' | 'at'>
  job: Owned<TeamJob & { releases: number }, 'createdAt' | 'attempts' | 'releases'>
  modelEndpoint: Owned<
    Omit<ModelEndpoint, 'models' | 'spentUsd'> & {
      models: ColumnType<ModelEndpoint['models'], string, string>
      sealedKey: string
    }
  >
  modelSpending: Owned<{ month: string; job: string; usd: number }>
  webhook: Owned<Webhook & { secret: string; createdBy: string }>
  notificationChoice: Owned<{ userId: string; event: string; mode: string }>
  notice: Owned<Notice & { id: string; at: string }, 'at'>
  delivery: Owned<
    {
      id: string
      notice: string
      channel: string
      target: string
      dueAt: string
      attempts: number
      state: string
      error: string | null
    },
    'attempts'
  >
  waitingApproval: Owned<
    {
      project: string
      id: string
      run: string
      request: RequestedCall & { readonly requestedBy: string }
      requestedAt: string
      expiresAt: string
      decision: 'approved' | 'denied' | null
      decidedBy: string | null
      decidedAt: string | null
      reason: string | null
      signature: string | null
    },
    'requestedAt'
  >
  storageUsed: Owned<{ bytes: number }>
}

export interface AuditEntry {
  readonly id: number
  readonly at: string
  readonly actor: string
  readonly action: string
  readonly target: string
  readonly details: Readonly<Record<string, unknown>>
}
