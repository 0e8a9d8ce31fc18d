import { execFileSync } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import type { RepositoryChange, Job } from '@retake/web'
import type { Ui } from './start-ui.js'

export interface Answer<T> {
  readonly status: number
  readonly json: T
}

/** What an error of the API says. */
export interface Refused {
  readonly error: { code: string; what: string; why: string; fix: string }
}

/** Asks the API of a viewer as a script does, without a browser. */
export class AskApi {
  readonly #origin: string
  readonly #headers: Record<string, string>

  constructor({ url, token }: Pick<Ui, 'url' | 'token'>) {
    this.#origin = new URL(url).origin
    this.#headers = { authorization: `Bearer ${token}`, 'x-retake': '1' }
  }

  /** `path` without `/api`. A text is sent as it is. */
  async send<T = never>(method: string, path: string, body?: unknown): Promise<Answer<T>> {
    const response = await fetch(`${this.#origin}/api${path}`, {
      method,
      headers: {
        ...this.#headers,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    return { status: response.status, json: (await response.json()) as T }
  }

  /** A good answer, or it throws what the server said. */
  async get<T>(path: string): Promise<T> {
    return good(await this.send<T>('GET', path), path)
  }

  async post<T>(path: string, body: unknown = {}): Promise<T> {
    return good(await this.send<T>('POST', path, body), path)
  }

  /** The code of the error that a change is refused with. */
  async refusal(path: string, body: unknown = {}): Promise<string> {
    const { status, json } = await this.send<Refused>('POST', path, body)
    return status < 400 ? `accepted: ${JSON.stringify(json)}` : json.error.code
  }

  /** The job as it is when `isThere` says so. */
  async job(id: string, isThere: (job: Job) => boolean = hasEnded): Promise<Job> {
    for (const deadline = Date.now() + 120_000; ;) {
      const job = (await this.get<Job[]>('/jobs')).find((each) => each.id === id)
      if (job && isThere(job)) return job
      if (Date.now() > deadline) throw new Error(`the job stays ${JSON.stringify(job)}`)
      await sleep(20)
    }
  }

  /** Reported changes, until the one that `isLast` finds. */
  async changes(isLast: (change: RepositoryChange) => boolean): Promise<RepositoryChange[]> {
    const stopping = new AbortController()
    const response = await fetch(`${this.#origin}/api/changes`, {
      headers: this.#headers,
      signal: stopping.signal,
    })
    const reported: RepositoryChange[] = []
    let rest = ''
    const decoder = new TextDecoder()
    const body = (response.body ?? []) as AsyncIterable<Uint8Array>
    for await (const chunk of body) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
      rest = lines.pop() ?? ''
      reported.push(...lines.map((line) => JSON.parse(line) as RepositoryChange))
      if (reported.some(isLast)) break
    }
    stopping.abort()
    return reported
  }
}

function good<T>({ status, json }: Answer<T>, path: string): T {
  if (status === 200) return json
  throw new Error(`${path} was answered with ${status}: ${JSON.stringify(json)}`)
}

export const hasEnded = ({ endedAt }: Job): boolean => endedAt !== undefined

/** Processes of this machine whose command names a text: the agent that is run from a folder. */
export const processesNaming = (text: string): string[] =>
  execFileSync('ps', ['-eo', 'pid,args'], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.includes(text) && !line.includes('ps -eo'))
