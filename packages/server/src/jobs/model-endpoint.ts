import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { costUsd, findPrice, NO_USAGE, type PriceTable, readModelRequest } from '@retake/tape'
import { sql } from 'kysely'
import { type Database, type OrgRows, timeText } from '../database/database.js'
import { serverErrors } from '../edge/errors.js'
import { checkPublic, sendOutside } from '../edge/outside-request.js'
import type { ServerKeys } from '../storage/server-keys.js'
import { audit } from '../database/audit.js'
import type { Actor, AllowedModel, ModelProvider, ModelEndpoint } from '../database/tables.js'

export interface SandboxRequest {
  readonly method: string
  /** The address that the program requested. */
  readonly url: string
  readonly headers: Headers
  readonly body: string
}

export interface ModelAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: AsyncIterable<Uint8Array>
}

interface Route {
  /** Matches the end of a request path. The group is the path below the base URL. */
  readonly path: RegExp
  /** Prefix of that path, if it is not directly below the base URL. */
  readonly below?: string
  readonly key: (key: string) => Readonly<Record<string, string>>
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

/** Retake itself sends chat completions, which every provider accepts at its own path. */
const CHAT = /\/v1\/(chat\/completions)$/

/** Routes that are forwarded, and how to send the key. */
const PROVIDERS = {
  openai: {
    title: 'OpenAI or compatible',
    routes: [{ path: /\/(chat\/completions|completions|responses|embeddings)$/, key: bearer }],
  },
  anthropic: {
    title: 'Anthropic',
    routes: [
      { path: /\/(v1\/messages)$/, key: (key: string) => ({ 'x-api-key': key }) },
      { path: CHAT, below: 'v1/', key: bearer },
    ],
  },
  google: {
    title: 'Google Gemini',
    routes: [
      {
        path: /\/(v1(?:beta)?\/models\/[\w.-]+:(?:streamG|g)enerateContent)$/,
        key: (key: string) => ({ 'x-goog-api-key': key }),
      },
      { path: CHAT, below: 'v1beta/openai/', key: bearer },
    ],
  },
} as const satisfies Readonly<
  Record<string, { readonly title: string; readonly routes: readonly Route[] }>
>

export const MODEL_PROVIDERS = Object.entries(PROVIDERS).map(
  ([name, { title }]) => [name, title] as const,
)

/** Request headers that are forwarded. */
export const MODEL_HEADERS = ['content-type', 'accept', 'anthropic-version', 'anthropic-beta']
const RETURNED = ['content-type', 'retry-after', 'request-id', 'x-request-id']
/** Output tokens to reserve if a request sets no limit. */
const OUTPUT_TOKENS = 8192
const ANSWER_MAX = 64 << 20

/**
 * The model that jobs of an organization may use. Sandboxed code sends requests here without a key;
 * only requests to listed models are forwarded. The likely maximum cost is reserved before a request
 * is sent and corrected afterwards, so that neither parallel requests nor a crash exceed a budget.
 */
export class ModelEndpoints {
  constructor(
    private readonly database: Database,
    private readonly keys: ServerKeys,
    private readonly options: { readonly allowPrivate: boolean },
  ) {}

  async find(actor: Actor): Promise<ModelEndpoint | undefined> {
    return this.database.inOrg(actor, async (rows) => {
      const found = await rows
        .selectFrom('modelEndpoint')
        .select(['baseUrl', 'provider', 'models', 'jobUsd', 'monthUsd', 'setBy', 'setAt'])
        .executeTakeFirst()
      return found && { ...found, spentUsd: (await spent(rows, thisMonth())).month }
    })
  }

  /** Sets or replaces the endpoint. Without a key, the stored key remains. */
  async set(actor: Actor, given: NewEndpoint & { readonly key?: string }): Promise<void> {
    const { baseUrl, provider, models, jobUsd, monthUsd, key } = given
    check(given)
    await checkPublic('The base URL', baseUrl, this.options)
    await this.database.inOrg(actor, async (rows) => {
      const known = rows.selectFrom('modelEndpoint').select(['sealedKey', 'baseUrl'])
      const before = await known.executeTakeFirst()
      // The stored key must not be sent to another server.
      const isSameServer =
        before !== undefined && new URL(before.baseUrl).origin === new URL(baseUrl).origin
      const sealed = key ? this.#seal(actor.org, key) : isSameServer && before.sealedKey
      if (!sealed)
        throw serverErrors.REQUEST_INVALID('The key', 'A new address needs the key again.')
      const row = {
        org: actor.org,
        baseUrl: baseUrl.replace(/\/+$/, ''),
        provider: provider as ModelProvider,
        sealedKey: sealed,
        models: JSON.stringify(models),
        jobUsd,
        monthUsd,
        setBy: actor.user,
        setAt: timeText(),
      }
      await rows
        .insertInto('modelEndpoint')
        .values(row)
        .onConflict((conflict) => conflict.column('org').doUpdateSet(row))
        .execute()
      const names = models.map(({ name }) => name)
      await audit(rows, actor, 'model.set', new URL(baseUrl).origin, {
        provider,
        models: names,
        jobUsd,
        monthUsd,
        newKey: key !== undefined && key !== '',
      })
    })
  }

  async remove(actor: Actor): Promise<void> {
    await this.database.inOrg(actor, async (rows) => {
      const removed = await rows.deleteFrom('modelEndpoint').returningAll().executeTakeFirst()
      if (removed === undefined) throw serverErrors.NOT_FOUND('model endpoint')
      await audit(rows, actor, 'model.remove', new URL(removed.baseUrl).origin)
    })
  }

  /** Throws unless jobs may use this model. */
  async check(actor: Actor, model: string): Promise<void> {
    const endpoint = await this.find(actor)
    if (endpoint === undefined) throw serverErrors.MODEL_MISSING()
    allowed(endpoint.models, model)
  }

  /** Forwards a request of a job with the key. Throws if it is not allowed. */
  async forward(
    actor: Actor,
    job: string,
    request: SandboxRequest,
    signal: AbortSignal,
  ): Promise<ModelAnswer> {
    const endpoint = await this.find(actor)
    if (endpoint === undefined) throw serverErrors.MODEL_MISSING()
    const { provider, models, baseUrl } = endpoint
    const target = URL.canParse(request.url) ? new URL(request.url) : undefined
    // The route of a request, and its path below the base URL.
    const pathname = target?.pathname ?? ''
    const routes: readonly Route[] = PROVIDERS[provider].routes
    const route = routes.flatMap(({ path, below = '', key }) => {
      const end = path.exec(pathname)?.[1]
      return end === undefined ? [] : [{ path: `${below}${end}`, key }]
    })[0]
    const call =
      request.method === 'POST' && route !== undefined
        ? readModelRequest({
            method: 'POST',
            url: request.url,
            headers: [...request.headers],
            text: request.body,
          })
        : undefined
    if (route === undefined || call === undefined)
      throw serverErrors.MODEL_REQUEST_REFUSED(`${request.method} ${target?.pathname ?? ''}`)
    const model = allowed(models, call.model ?? 'unknown')
    const reserved = likelyCost(model, request.body)
    const month = thisMonth()
    const book = (usd: number): Promise<void> =>
      this.database.inOrg(actor, (rows) => add(rows, actor.org, { month, job, usd }))
    await this.#reserve(actor, endpoint, { month, job, usd: reserved })
    const search = target?.searchParams.get('alt') === 'sse' ? '?alt=sse' : ''
    const url = `${baseUrl}/${route.path}${search}`
    const response = await this.#send(actor, { url, key: route.key }, request, signal).catch(
      async (error: unknown) => {
        await book(-reserved)
        throw serverErrors.MODEL_UNREACHABLE(error)
      },
    )
    const { statusCode: status = 502 } = response
    const headers = Object.fromEntries(
      RETURNED.flatMap((name) => {
        const value = response.headers[name]
        return typeof value === 'string' ? [[name, value]] : []
      }),
    )
    const settle = async (body: Uint8Array | undefined): Promise<void> => {
      // An incomplete answer, or one without token counts, costs what was reserved.
      const usage = body && call.usageOf({ status, headers: Object.entries(headers), body })
      const used = status >= 400 ? 0 : usage && costUsd(model.name, usage, pricesOf(model))
      if (used !== undefined) await book(used - reserved)
    }
    return { status, headers, body: observed(response, settle) }
  }

  async #send(
    { org }: Actor,
    { url, key }: { readonly url: string; readonly key: Route['key'] },
    { headers, body }: SandboxRequest,
    signal: AbortSignal,
  ): Promise<IncomingMessage> {
    const row = await this.database.inOrg({ org, user: 'server', role: 'member' }, (rows) =>
      rows.selectFrom('modelEndpoint').select('sealedKey').executeTakeFirstOrThrow(),
    )
    const passed = MODEL_HEADERS.flatMap((name) => {
      const value = headers.get(name)
      return value === null ? [] : [[name, value] as const]
    })
    return sendOutside(url, {
      allowPrivate: this.options.allowPrivate,
      body,
      signal,
      timeoutMs: 10 * 60_000,
      headers: {
        ...Object.fromEntries<string>(passed),
        ...key(this.#open(org, row.sealedKey)),
      },
    })
  }

  // Money

  async #reserve(
    actor: Actor,
    { jobUsd, monthUsd }: ModelEndpoint,
    wanted: Booking,
  ): Promise<void> {
    const { month, job, usd } = wanted
    await this.database.inOrg(actor, async (rows) => {
      // The lock serializes reservations, so that each sees the others.
      await rows.selectFrom('modelEndpoint').select('org').forUpdate().execute()
      const so = await spent(rows, month, job)
      if (so.job + usd > jobUsd) throw serverErrors.MODEL_BUDGET_REACHED('job', jobUsd)
      if (so.month + usd > monthUsd) throw serverErrors.MODEL_BUDGET_REACHED('month', monthUsd)
      await add(rows, actor.org, wanted)
    })
  }

  async spentBy(actor: Actor, job: string): Promise<number> {
    return this.database.inOrg(actor, async (rows) => (await spent(rows, '', job)).job)
  }

  // The key of the provider, sealed with a key of the organization

  #seal(org: string, key: string): string {
    const nonce = randomBytes(12)
    const cipher = createCipheriv('aes-256-gcm', this.keys.key('models', org), nonce)
    const sealed = [nonce, cipher.update(key, 'utf8'), cipher.final(), cipher.getAuthTag()]
    return Buffer.concat(sealed).toString('base64url')
  }

  #open(org: string, sealed: string): string {
    const bytes = Buffer.from(sealed, 'base64url')
    const decipher = createDecipheriv(
      'aes-256-gcm',
      this.keys.key('models', org),
      bytes.subarray(0, 12),
    )
    decipher.setAuthTag(bytes.subarray(-16))
    return decipher.update(bytes.subarray(12, -16), undefined, 'utf8') + decipher.final('utf8')
  }
}

function allowed(models: readonly AllowedModel[], wanted: string): AllowedModel {
  const model = models.find(({ name }) => name === wanted)
  if (model !== undefined) return model
  throw serverErrors.MODEL_NOT_ALLOWED(
    wanted,
    models.map(({ name }) => name),
  )
}

interface Booking {
  readonly month: string
  readonly job: string
  readonly usd: number
}

const thisMonth = (): string => new Date().toISOString().slice(0, 7)

const spent = (rows: OrgRows, month: string, job = '') =>
  rows
    .selectFrom('modelSpending')
    .select([
      sql<number>`coalesce(sum(usd) filter (where month = ${month}), 0)`.as('month'),
      sql<number>`coalesce(sum(usd) filter (where job = ${job}), 0)`.as('job'),
    ])
    .executeTakeFirstOrThrow()

async function add(rows: OrgRows, org: string, { month, job, usd }: Booking): Promise<void> {
  await rows
    .insertInto('modelSpending')
    .values({ org, month, job, usd })
    .onConflict((conflict) =>
      conflict
        .columns(['org', 'month', 'job'])
        .doUpdateSet({ usd: sql<number>`model_spending.usd + excluded.usd` }),
    )
    .execute()
}

const pricesOf = ({ name, input, output }: AllowedModel): PriceTable =>
  input === undefined || output === undefined ? {} : { [name]: { input, output } }

/** Estimated from the length of the request and its token limit. */
function likelyCost(model: AllowedModel, body: string): number {
  const limits = [...body.matchAll(/"(?:max_\w*tokens|maxOutputTokens)"\s*:\s*(\d+)/g)]
  const output = Math.max(0, ...limits.map(([, tokens]) => Number(tokens))) || OUTPUT_TOKENS
  const input = Math.ceil(Buffer.byteLength(body) / 3)
  return costUsd(model.name, { ...NO_USAGE, input, output }, pricesOf(model)) ?? 0
}

/** Passes the answer through. `settle` gets the complete answer, or nothing if it is incomplete. */
async function* observed(
  answer: AsyncIterable<Uint8Array>,
  settle: (body: Uint8Array | undefined) => Promise<void>,
): AsyncIterable<Uint8Array> {
  const chunks: Uint8Array[] = []
  let length = 0
  let isWhole = false
  try {
    for await (const chunk of answer) {
      length += chunk.length
      if (length <= ANSWER_MAX) chunks.push(chunk)
      yield chunk
    }
    isWhole = length <= ANSWER_MAX
  } finally {
    await settle(isWhole ? Buffer.concat(chunks) : undefined)
  }
}

type NewEndpoint = Pick<ModelEndpoint, 'baseUrl' | 'models' | 'jobUsd' | 'monthUsd'> & {
  readonly provider: string
}

function check({ baseUrl, provider, models, jobUsd, monthUsd }: NewEndpoint): void {
  const invalid = (what: string, why: string) => serverErrors.REQUEST_INVALID(what, why)
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '' || url.search)
    throw invalid('The base URL', 'It must start with https:// or http:// and contain no key.')
  if (!Object.hasOwn(PROVIDERS, provider))
    throw invalid('The provider', `Choose from ${Object.keys(PROVIDERS).join(', ')}.`)
  if (models.length === 0 || models.length > 100)
    throw invalid('The list of models', 'Enter 1 to 100 models.')
  for (const { name, input, output } of models) {
    const isPriced = [input, output].every((each) => each !== undefined && each >= 0)
    if (!/^[\w.:/@-]{1,200}$/.test(name)) throw invalid(`The model "${name}"`, 'Check its name.')
    if (!isPriced && findPrice(name) === undefined)
      throw invalid(
        `The model "${name}"`,
        'Its price is not known. Add the prices of a million input and output tokens.',
      )
  }
  if (!(jobUsd > 0 && monthUsd > 0 && Number.isFinite(jobUsd + monthUsd)))
    throw invalid('The budget', 'Both limits must be more than 0 dollars.')
}

/** One model per line: its name, then two prices if they are not public. */
export function parseModels(text: string): AllowedModel[] {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '')
  return lines.map((line) => {
    const [name = '', input, output] = line.trim().split(/\s+/)
    return {
      name,
      ...(input !== undefined && { input: Number(input) }),
      ...(output !== undefined && { output: Number(output) }),
    }
  })
}

export const modelLines = (models: readonly AllowedModel[]): string =>
  models
    .map(({ name, input, output }) => [name, input, output].filter((each) => each !== undefined))
    .map((words) => words.join(' '))
    .join('\n')
