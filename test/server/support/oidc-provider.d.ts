/** The package has no types. */
declare module 'oidc-provider' {
  import type { Server } from 'node:http'
  export default class Provider {
    constructor(issuer: string, settings: unknown)
    use(step: (context: { body: unknown }, next: () => Promise<void>) => Promise<void>): void
    listen(port: number): Server
  }
}
