/** The package has no types. */
declare module 'oidc-provider' {
  import type { Server } from 'node:http'
  export default class Provider {
    constructor(issuer: string, settings: unknown)
    listen(port: number): Server
  }
}
