import { CallBounds } from '../bounds/call-bounds.js'
import type { Command, FileAccess } from '../bounds/scopes.js'

/**
 * Bounds that also know how much an attempt has touched. An error proves that nothing
 * happened only when the request it is about is all that the attempt did. Not seen:
 * what goes over connections that speak no HTTP and were open before the call.
 */
export class AttemptBounds extends CallBounds {
  readonly #requests = new Set<string>()
  /** Where requests go to, and where connections do: a connection that a request is made over is no more. */
  readonly #requested = new Set<string>()
  readonly #connected = new Set<string>()
  #sent = 0
  #didMore = false

  /** True if there was at most one request, and nothing else. */
  get didOneThing(): boolean {
    const others = [...this.#connected].filter((endpoint) => !this.#requested.has(endpoint))
    return !this.#didMore && this.#sent <= 1 && this.#requests.size + others.length <= 1
  }

  begin(): void {
    for (const each of [this.#requests, this.#requested, this.#connected]) each.clear()
    this.#sent = 0
    this.#didMore = false
  }

  override file(access: FileAccess, path: string): void {
    super.file(access, path)
    if (access !== 'read') this.#didMore = true
  }

  override request(method: string, url: URL): void {
    super.request(method, url)
    const endpoint = `${url.hostname}:${url.port || (url.protocol === 'https:' ? 443 : 80)}`
    this.#requested.add(endpoint)
    // `fetch` sends a method that was written small in capitals.
    this.#requests.add(`${endpoint} ${method.toUpperCase()} ${url.pathname}${url.search}`)
  }

  override sent(): void {
    super.sent()
    this.#sent += 1
  }

  override callsInside(): void {
    this.#didMore = true
  }

  override host(host: string, port: number, raw: boolean): void {
    super.host(host, port, raw)
    this.#connected.add(`${host}:${port}`)
  }

  override process(command: Command): void {
    this.#didMore = true
    super.process(command)
  }

  override worker(file: string): void {
    this.#didMore = true
    super.worker(file)
  }

  override addon(file: string): void {
    this.#didMore = true
    super.addon(file)
  }
}
