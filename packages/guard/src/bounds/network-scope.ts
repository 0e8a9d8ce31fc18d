/** Where a tool may connect to. Private, loopback, link-local and metadata addresses are refused unless they are listed. */
export interface NetworkScope {
  /** Hosts, such as `api.example.com`, `*.example.com` or `example.com:8443`. Missing: every public one; empty: none. */
  readonly allow?: readonly string[]
  /** Addresses and ranges that are allowed although they are not public, such as `127.0.0.1:5432`, `10.1.0.0/16`, `[::1]:80` or `unix:/run/db.sock`. */
  readonly addresses?: readonly string[]
  /** HTTP methods; every one unless set. With it, connections that do not speak HTTP are refused. */
  readonly methods?: readonly string[]
}
